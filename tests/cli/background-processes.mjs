// @ts-check
/** The program `sandpipe`, and background processes of this machine that it starts. */

import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { background } from "sandpipe";
import { localRuntime } from "sandpipe/node";
import { installSandpipe } from "../support/installed-cli.mjs";
import { until } from "../support/processes.mjs";

/** Installs it, with a place of its own for the processes. */
export async function installWithProcesses() {
  const sandpipe = await installSandpipe();
  const folder = await mkdtemp(join(sandpipe.path, "background-"));
  /** Where the processes have their files. @type {NodeJS.ProcessEnv} */
  const env = { TMPDIR: folder };
  // The same ones, as the package has them.
  const processes = background(localRuntime(), {
    baseDir: `${folder}/sandpipe-${process.getuid?.()}`,
  });

  /** Runs `sandpipe bg`. What it starts stays. @param {string[]} args */
  async function bg(...args) {
    const invocation = await sandpipe.start(["bg", ...args], { env });
    invocation.stdin.end();
    return invocation.end;
  }

  /** Starts a script and gives its id. @param {string} script @param {string[]} options */
  async function start(script, ...options) {
    const { exitCode, stdout, stderr } = await bg("start", ...options, "-c", script);
    assert.equal(exitCode, 0);
    assert.match(stderr, /^sandpipe: it runs unconfined, with your permissions: .*\n$/);
    assert.match(stdout, /^[0-9a-f]+\n$/);
    return stdout.trim();
  }

  /** Waits until a process has said so much. @param {string} id @param {string} what */
  const says = (id, what) =>
    until(async () => (await processes.readOutput(id)).output.includes(what));

  async function remove() {
    for (const { id } of await processes.list()) await processes.terminate(id, { graceMs: 0 });
    await sandpipe.remove();
  }

  return { sandpipe, env, processes, bg, start, says, remove };
}
