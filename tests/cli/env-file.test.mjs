// @ts-check
// Node.js reads `--env-file` anywhere before a `--`: also where it is an argument of the command that `sandpipe` runs.
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, beforeEach, describe, it } from "node:test";

import { root } from "../../scripts/project.mjs";
import { installSandpipe } from "../support/installed-cli.mjs";

const sandpipe = await installSandpipe();
after(() => sandpipe.remove());

const preloaded = join(sandpipe.path, "preloaded");

describe("an --env-file among the arguments of a command", () => {
  const preload = join(sandpipe.path, "preload.cjs");
  writeFileSync(preload, `require("node:fs").writeFileSync(${JSON.stringify(preloaded)}, "");`);
  writeFileSync(join(sandpipe.path, "x.env"), `NODE_OPTIONS=--require=${preload}\n`);
  beforeEach(() => rmSync(preloaded, { force: true }));

  /** Runs a line with the installed program as `sandpipe`. @param {string} line */
  async function run(line) {
    const invocation = await sandpipe.startInShell(line);
    invocation.stdin.end();
    return await invocation.end;
  }

  for (const argument of ["--env-file x.env", "--env-file=x.env", "--env-file-if-exists=x.env"]) {
    it(`is its own, as ${argument}`, async () => {
      const end = await run(`sandpipe run echo up ${argument}`);
      assert.deepEqual([end.exitCode, end.stdout], [0, `up ${argument}\n`], end.stderr);
      assert.ok(!existsSync(preloaded));
    });
  }

  it("is its own where the file is missing", async () => {
    const end = await run("sandpipe run echo --env-file missing.env");
    assert.deepEqual([end.exitCode, end.stdout], [0, "--env-file missing.env\n"], end.stderr);
  });

  it("is its own with the shell of BusyBox, and through a shim as pnpm writes it", async () => {
    const file = "node_modules/sandpipe/cli/bin/sandpipe.bin";
    writeFileSync(
      join(sandpipe.path, "shim"),
      `#!/bin/sh\nbasedir='${sandpipe.path}'\nexec /bin/sh  "$basedir/${file}" "$@"\n`,
      { mode: 0o755 },
    );
    for (const program of [`busybox sh ${file}`, "./shim"]) {
      const end = await run(`${program} run echo --env-file x.env`);
      assert.deepEqual([end.exitCode, end.stdout], [0, "--env-file x.env\n"], end.stderr);
      assert.ok(!existsSync(preloaded), program);
    }
  });

  it("is read by Node.js where no -- comes before: so the test can fail", async () => {
    await run("node node_modules/sandpipe/cli/sandpipe.js run echo --env-file x.env");
    assert.ok(existsSync(preloaded));
  });
});

it("each script of this checkout has Node.js read no --env-file among what it is given", () => {
  const { scripts, wireit } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const commands = Object.values(wireit).map(({ command }) => command ?? "");
  const lines = [...Object.values(scripts), ...commands];
  assert.ok(lines.some((line) => line.includes("node -- ")));
  for (const line of lines) assert.doesNotMatch(line, /\bnode (?!-- )/);
});
