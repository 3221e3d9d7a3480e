// @ts-check
import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
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

test("has exactly these files", () => {
  const modules = [
    ...["background", "browser", "connect", "edge", "errors", "execs", "failure", "load", "node"],
    ...["public", "runtime", "sandbox", "sessions", "signal", "stream", "terminal", "types"],
    ...["core/sandpipe", "node/index", "node/local-runtime", "node/ssh-runtime"],
    ...["process-group", "script", "start-agent", "transcript"].map((name) => `node/${name}`),
    ...["connections", "failures", "options", "remote-script"].map((name) => `node/ssh/${name}`),
    ...["paths", "taskkill"].map((name) => `node/windows/${name}`),
    ...["aborted", "agent", "arguments", "attendance", "command", "commands", "connection"].map(
      (name) => `cli/${name}`,
    ),
    ...["ending", "feed-stdin", "help", "main", "option-values", "outlet", "runtime"].map(
      (name) => `cli/${name}`,
    ),
    ...["sandpipe", "shown-output", "start-command", "terminal", "usage-error", "version"].map(
      (name) => `cli/${name}`,
    ),
    ...["bash", "bash-background-list", "bash-background-output", "browser", "cut-middle"].map(
      (name) => `tools/${name}`,
    ),
    ...["bash-background-terminate", "edge", "ending", "input", "keep-newest", "node"].map(
      (name) => `tools/${name}`,
    ),
    ...["plain-text", "public", "read-excerpt", "tool", "tools"].map((name) => `tools/${name}`),
    "mcp/serve",
    ...["mcp", "run"].map((name) => `cli/commands/${name}`),
  ];
  const expected = [
    ...modules.flatMap((name) => [`${name}.js`, `${name}.d.ts`]),
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
