// @ts-check
import assert from "node:assert/strict";
import { readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { dist, root } from "../../scripts/project.mjs";
import { pack, temporaryFolder } from "../support/installed-package.mjs";

/** In bytes, with gzip. To be lowered when the core gets smaller. */
const MAX_DOWNLOAD = 243_000;

/** @type {string} */
let folder;
/** @type {import("../support/installed-package.mjs").Tarball} */
let tarball;

before(async () => {
  folder = await temporaryFolder();
  tarball = await pack(folder);
});

after(() => rm(folder, { recursive: true, force: true }));

test("has what the sources are compiled to, and nothing else", async () => {
  const sources = await readdir(join(root, "js"), { recursive: true });
  const modules = sources
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts") && !path.endsWith(".wasm.ts"))
    .map((path) => path.slice(0, -".ts".length));
  assert.ok(modules.includes("cli/sandpipe"));
  const expected = [
    ...[...modules, "core/sandpipe"].flatMap((name) => [`${name}.js`, `${name}.d.ts`]),
    // What the program `sandpipe` is started by.
    ...["cli/bin/package.json", "cli/bin/sandpipe.bin"],
    // For resolvers that know no `exports`.
    "tools/package.json",
    ...["LICENSE", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "package.json"],
    ...["sandpipe.wasm", "sandpipe.wasm.d.ts", "inline-wasm.js", "third-party-licenses.txt"],
  ];
  assert.deepEqual(tarball.files.map(({ path }) => path).sort(), expected.sort());
});

test("needs no other package: what it has of others is in it, with their licenses", async () => {
  const { dependencies } = JSON.parse(await readFile(join(dist, "package.json"), "utf8"));
  assert.equal(dependencies, undefined);
  for (const { path } of tarball.files.filter(({ path }) => path.endsWith(".js"))) {
    const code = await readFile(join(dist, path), "utf8");
    const imported = code.matchAll(
      /(?:^|;)(?:import|export)\b[^"';]*from\s*"([^"]+)"|(?:^|;)import\s*"([^"]+)"/gm,
    );
    for (const [, from = "", alone = ""] of imported) {
      assert.match(from || alone, /^(\.|node:)/, path);
    }
  }
  const licenses = await readFile(join(dist, "third-party-licenses.txt"), "utf8");
  assert.deepEqual(licenses.match(/^\S+ (?=[\d.]+ \()/gm)?.sort(), [
    "@modelcontextprotocol/core ",
    "@modelcontextprotocol/server ",
    "ansi-regex ",
    "b4a ",
    "commander ",
    "events-universal ",
    "fast-fifo ",
    "get-east-asian-width ",
    "streamx ",
    "string-width ",
    "strip-ansi ",
    "tar-stream ",
    "text-decoder ",
    "ws ",
    "zod ",
  ]);
});

test("what pages load has no bare Buffer, of which bundlers would make a dependency", async () => {
  const code = await readFile(join(dist, "core", "sandpipe.js"), "utf8");
  assert.match(code, /\bglobalThis\.Buffer\b/);
  assert.doesNotMatch(code, /(?<![\w.])Buffer\b/);
});

test("the module does not tell where it was built", async () => {
  const module = await readFile(join(dist, "sandpipe.wasm"), "latin1");
  const places = module.match(/[\w./-]*\/js-sys-[\w./-]*/g) ?? [];
  assert.ok(places.length > 0);
  assert.deepEqual(
    places.filter((place) => place.startsWith("/")),
    [],
  );
});

test("what a page downloads of the core is small: `npm run size` tells what takes the space", async () => {
  const files = ["sandpipe.wasm", "core/sandpipe.js"];
  const sizes = await Promise.all(
    files.map(async (name) => gzipSync(await readFile(join(dist, name)), { level: 9 }).length),
  );
  const total = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(total <= MAX_DOWNLOAD, `${total} bytes with gzip`);
});

test("publint finds nothing", async () => {
  const { buffer } = new Uint8Array(await readFile(tarball.filename));
  const { messages, pkg } = await publint({ strict: true, pack: { tarball: buffer } });
  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg)),
    [],
  );
});

test("attw finds no wrong types", async () => {
  const analysis = await checkPackage(
    createPackageFromTarballData(new Uint8Array(await readFile(tarball.filename))),
  );
  assert(analysis.types !== false);
  // The package is ESM only: that Node 20.19 can require() it all the same is unknown to attw.
  const relevant = analysis.problems.filter(({ kind }) => kind !== "CJSResolvesToESM");
  assert.deepEqual(relevant, []);
});
