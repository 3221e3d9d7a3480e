// @ts-check
import assert from "node:assert/strict";
import { readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { dist, root } from "../../scripts/project.mjs";
import { pack, temporaryFolder } from "../installed-package.mjs";

/** @type {string} */
let folder;
/** @type {import("../installed-package.mjs").Tarball} */
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
    ...["LICENSE", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "package.json"],
    ...["sandpipe.wasm", "sandpipe.wasm.d.ts"],
  ];
  assert.deepEqual(tarball.files.map(({ path }) => path).sort(), expected.sort());
});

test("depends on what this workspace is tested with", async () => {
  const { devDependencies } = await packageAt(root);
  const { dependencies } = await packageAt(dist);
  assert.deepEqual(Object.keys(dependencies), ["@modelcontextprotocol/server"]);
  for (const [name, version] of Object.entries(dependencies)) {
    assert.equal(version, devDependencies[name], name);
  }
});

/** @param {string} folder */
async function packageAt(folder) {
  return JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
}

test("the module does not tell where it was built", async () => {
  const module = await readFile(join(dist, "sandpipe.wasm"), "latin1");
  const places = module.match(/[\w./-]*\/js-sys-[\w./-]*/g) ?? [];
  assert.ok(places.length > 0);
  assert.deepEqual(
    places.filter((place) => place.startsWith("/")),
    [],
  );
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
  // The package is ESM only: resolution as of Node 10 knows no `exports`, and that Node 20.19 can
  // require() it all the same is unknown to the compiler that attw brings along.
  const relevant = analysis.problems.filter(
    (problem) =>
      !("resolutionKind" in problem) || !["node10", "node16-cjs"].includes(problem.resolutionKind),
  );
  assert.deepEqual(relevant, []);
});
