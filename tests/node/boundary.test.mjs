// @ts-check
import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { dist, root } from "../../scripts/project.mjs";

test("TypeScript sees the type of all that crosses to the core and back", async () => {
  const types = await readFile(join(dist, "core", "sandpipe.d.ts"), "utf8");
  const code = types.replaceAll(/\/\*.*?\*\//gs, "");
  assert.match(code, /exec\(command: string, args\?: string\[\], options\?: ExecOptions\)/);
  assert.deepEqual(code.match(/.*\bany\b.*/g), null);
});

test("an exported function takes no bare JsValue", async () => {
  const sources = await readdir(join(root, "src"), { recursive: true });
  for (const path of sources.filter((path) => path.endsWith(".rs"))) {
    const source = await readFile(join(root, "src", path), "utf8");
    assert.deepEqual(source.match(/\bpub fn \w+\([^)]*: &JsValue\b/g), null, path);
  }
});
