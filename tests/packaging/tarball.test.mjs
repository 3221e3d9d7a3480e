// @ts-check
import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
import { after, before, test } from "node:test";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
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
    ...["agent-process", "process-group", "script", "start-agent", "transcript"].map(
      (name) => `node/${name}`,
    ),
    ...["connections", "failures", "options", "remote-script"].map((name) => `node/ssh/${name}`),
    ...["paths", "taskkill"].map((name) => `node/windows/${name}`),
    ...[
      "aborted",
      "age",
      "agent",
      "arguments",
      "attendance",
      "by-prefix",
      "command",
      "commands",
      "completion-scripts",
      "connection",
      "detach-keys",
      "ending",
      "error-line",
      "exec-by-prefix",
      "feed-stdin",
      "help",
      "interruptible",
      "json",
      "main",
      "on-each",
      "on-target",
      "open-in-browser",
      "option-values",
      "outlet",
      "output-lost",
      "process-by-prefix",
      "progress",
      "runtime",
      "sandpipe",
      "serve-agent",
      "shell-quote",
      "short-id",
      "shown-output",
      "start-command",
      "stop-each",
      "table",
      "terminal",
      "usage-error",
    ].map((name) => `cli/${name}`),
    ...["agent", "attach", "bg", "completion", "console", "kill", "logs", "ps", "run", "stop"].map(
      (name) => `cli/commands/${name}`,
    ),
    ...["logs", "ls", "rm", "start", "stop", "wait"].map((name) => `cli/commands/bg/${name}`),
  ];
  const expected = [
    ...modules.flatMap((name) => [`${name}.js`, `${name}.d.ts`]),
    ...["LICENSE", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "package.json"],
    ...["sandpipe.wasm", "sandpipe.wasm.d.ts"],
  ];
  assert.deepEqual(tarball.files.map(({ path }) => path).sort(), expected.sort());
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
