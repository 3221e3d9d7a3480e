// @ts-check
// Where the WebAssembly module is found: its file, or the copy of it in JavaScript.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { dist } from "../../scripts/project.mjs";
import { temporaryFolder } from "../support/installed-package.mjs";

const execute = promisify(execFile);

/** @type {string} */
let project;
/** @type {string} */
let installed;

beforeEach(async () => {
  project = await temporaryFolder();
  installed = join(project, "node_modules", "sandpipe");
  await cp(dist, installed, { recursive: true });
  await writeFile(join(project, "main.mjs"), MAIN);
});

afterEach(() => rm(project, { recursive: true, force: true }));

const MAIN = `
  import { connect } from "sandpipe";
  const wasm = process.argv[2];
  connect({ url: "http://127.0.0.1:1", ...(wasm === undefined ? {} : { wasm }) }).then(
    ({ execs }) => console.log(typeof execs.exec),
    ({ name, message, hint }) => console.log(JSON.stringify({ name, message, hint })),
  );`;

/** @param {string[]} args */
async function run(...args) {
  const { stdout } = await execute(process.execPath, args, { cwd: project });
  return stdout.trim();
}

test("the copy has the bytes of the file", async () => {
  const { gzipBase64 } = await import(join(installed, "inline-wasm.js"));
  const bytes = gunzipSync(Buffer.from(gzipBase64, "base64"));
  assert.ok(bytes.equals(await readFile(join(installed, "sandpipe.wasm"))));
});

test("where the file is, the copy is not loaded", async () => {
  await writeFile(join(installed, "inline-wasm.js"), "console.log('loaded');\n");
  assert.equal(await run("main.mjs"), "function");
});

for (const [what, content] of /** @type {const} */ ([
  ["missing", undefined],
  ["a page", "<!doctype html>"],
  ["of another program", new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])],
])) {
  test(`where the file is ${what}, the copy takes its place`, async () => {
    const file = join(installed, "sandpipe.wasm");
    await (content === undefined ? rm(file) : writeFile(file, content));
    assert.equal(await run("main.mjs"), "function");
  });
}

for (const [format, platform] of /** @type {const} */ ([
  ["esm", "node"],
  ["cjs", "node"],
  // No `import.meta.url` there, and the entry that browsers have.
  ["iife", "browser"],
])) {
  test(`a bundle in one file has the copy in it: ${format}`, async () => {
    const bundle = await rolldown({
      input: join(project, "main.mjs"),
      platform,
      cwd: project,
    });
    const file = join(project, format === "esm" ? "bundle.mjs" : "bundle.cjs");
    await bundle.write({ file, format, codeSplitting: false });
    await bundle.close();
    await rm(installed, { recursive: true });
    assert.equal(await run(file), "function");
  });
}

test("a module that the caller names has no stand-in, and the error names the option", async () => {
  const failure = JSON.parse(await run("main.mjs", "/no/such/file.wasm"));
  assert.equal(failure.name, "LoadError");
  assert.match(failure.message, /: ENOENT/);
  assert.match(failure.hint, /option wasm .*sandpipe\/sandpipe\.wasm/);
  assert.ok(failure.message.endsWith(failure.hint));
});

test("where there is neither file nor copy, the error says why of both and names the option", async () => {
  await rm(join(installed, "sandpipe.wasm"));
  await rm(join(installed, "inline-wasm.js"));
  const failure = JSON.parse(await run("main.mjs"));
  assert.equal(failure.name, "LoadError");
  assert.match(failure.message, /ENOENT.*; its copy in JavaScript: Cannot find module/);
  assert.match(failure.hint, /connect\(\{ wasm \}\)/);
  assert.ok(failure.message.endsWith(failure.hint));
});

test("where no WebAssembly is compiled, the error says so", async () => {
  const failure = JSON.parse(await run("--jitless", "main.mjs"));
  assert.equal(failure.name, "LoadError");
  assert.match(failure.hint, /Nothing may compile WebAssembly here/);
});
