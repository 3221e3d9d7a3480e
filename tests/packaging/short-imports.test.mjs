// @ts-check
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { withShortImports } from "../../scripts/build/short-imports.mjs";
import { bindings } from "../../scripts/project.mjs";

const module = await readFile(join(bindings, "sandpipe_bg.wasm"));
const code = await readFile(join(bindings, "sandpipe.js"), "utf8");

/** @param {BufferSource} bytes */
const importsOf = (bytes) => WebAssembly.Module.imports(new WebAssembly.Module(bytes));

test("every import has a short name, and the code has what is imported under it", () => {
  const short = withShortImports(module, code);
  const imports = importsOf(new Uint8Array(short.module));
  assert.equal(imports.length, importsOf(new Uint8Array(module)).length);
  const [first] = imports;
  assert.ok(first);
  assert.match(short.code, new RegExp(`^ +"${first.module}": import0,$`, "m"));
  for (const { module, name } of imports) {
    assert.equal(module, first.module);
    assert.match(name, /^_\w{1,2}$/);
    assert.match(short.code, new RegExp(`^ +${name}: `, "m"));
  }
  assert.doesNotMatch(short.code, /_[0-9a-f]{16}: /);
});

test("a module is not taken with the code of a build that imports something else", () => {
  const text = module.toString("latin1");
  const name = importsOf(new Uint8Array(module)).find(({ name }) =>
    name.startsWith("__wbg_"),
  )?.name;
  assert.ok(name);
  const other = `${name.slice(0, -1)}${name.endsWith("0") ? "1" : "0"}`;
  const ofOther = withShortImports(
    Buffer.from(text.replaceAll(name, other), "latin1"),
    code.replaceAll(name, other),
  );
  const [own, another] = [withShortImports(module, code).module, ofOther.module].map(
    (bytes) => importsOf(new Uint8Array(bytes))[0]?.module,
  );
  assert.notEqual(own, another);
});

test("fails where the code does not have what the module imports", () => {
  const name = importsOf(new Uint8Array(module)).at(-1)?.name ?? "";
  const without = code.replaceAll(` ${name}:`, " other:");
  assert.throws(() => withShortImports(module, without), /the code has no \w+, which/);
});
