// @ts-check
import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { dist, root } from "../../scripts/project.mjs";

test("TypeScript sees the type of all that crosses to the core and back", async () => {
  const types = await readFile(join(dist, "core", "sandpipe.d.ts"), "utf8");
  const code = types.replaceAll(/\/\*.*?\*\//gs, "");
  assert.match(code, /exec\(command: string, args\?: string\[\], options\?: ExecOptions, /);
  assert.deepEqual(code.match(/.*\bany\b.*/g), null);
});

test("no object of the core can be freed while it may be used", async () => {
  const core = await import("../../dist/core/sandpipe.js");
  const classes = Object.values(core).filter((value) => value?.prototype?.__destroy_into_raw);
  assert.ok(classes.length > 5);
  for (const { name, prototype } of classes) {
    for (const method of ["free", Symbol.dispose]) {
      assert.equal(method in prototype, false, `${name}: ${String(method)}`);
    }
  }
});

test("an exported function takes no JsValue but what TypeScript sees the type of", async () => {
  // What has no class of its own, such as a text or an object.
  const typed = /#\[wasm_bindgen\(unchecked_param_type = "[^"]*"\)\]\s*\w+: &JsValue\b/g;
  // A parameter may have attributes with parentheses before it.
  const taken = /\bpub (async )?fn \w+\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*?:[^,()]*\bJsValue\b/g;
  const sources = await readdir(join(root, "src"), { recursive: true });
  for (const path of sources.filter((path) => path.endsWith(".rs"))) {
    const source = await readFile(join(root, "src", path), "utf8");
    assert.deepEqual(source.replace(typed, "").match(taken), null, path);
  }
});
