// @ts-check
// Background processes over SSH.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { it } from "node:test";
import { fileURLToPath } from "node:url";

import { background, BackgroundError, SshError } from "sandpipe";
import { localRuntime, sshRuntime } from "sandpipe/node";

import { openSshRuntime, startSshd } from "../support/sshd.mjs";
import { failure, mark } from "../support/script.mjs";
import { marked, until } from "../support/processes.mjs";
import { inTime } from "./in-time.mjs";
import { testBackground } from "./suite.mjs";
import { temporaryDirectory } from "../support/target.mjs";
import { waitingScripts } from "./waiting-scripts.mjs";

testBackground("a machine over SSH", openSshRuntime, { part: "runtime", groups: ["processes"] });

/**
 * Starts a server, and makes a directory with a client on this machine. Both are gone after the
 * test.
 *
 * @param {import("node:test").TestContext} t
 */
async function prepare(t) {
  const server = await startSshd();
  t.after(() => (server.child.signalCode === null ? server.stop() : undefined));
  const baseDir = temporaryDirectory();
  t.after(() => rmSync(baseDir, { recursive: true }));
  const here = inTime(background(localRuntime(), { baseDir }));
  return { server, baseDir, here };
}

it("tells what was not started from what may have been", async (t) => {
  const { server, baseDir, here } = await prepare(t);
  const runtime = inTime(sshRuntime(server.options));
  t.after(() => runtime.close());
  const there = background(runtime, { baseDir });
  const { line, env } = mark();

  // The connection breaks after the process was started, and before that is told.
  const breaking = background(
    {
      run: async (script) => {
        const running = runtime.run(`{ ${script}\n} >/dev/null; ${line}sleep 600`);
        await until(async () => (await here.list()).length === 1);
        server.breakConnections();
        return running;
      },
    },
    { baseDir },
  );
  for (const start of [() => breaking.spawn("sleep 600"), () => breaking.run("sleep 600")]) {
    const error = await failure(start());
    assert.ok(error instanceof BackgroundError, String(error));
    assert.ok(error.cause instanceof SshError && error.cause.mayHaveRun);
    assert.match(error.message, /may still run/);
    const { id = "" } = error;
    assert.equal((await here.terminate(id)).status, "killed");
    await here.remove(id);
  }
  for (const pid of marked(env)) process.kill(Number(pid), "SIGKILL");

  await server.stop();
  for (const start of [() => there.spawn("true"), () => there.run("true")]) {
    const error = await failure(start());
    assert.ok(error instanceof SshError, String(error));
    assert.equal(error.mayHaveRun, false);
  }
  assert.deepEqual(await here.list(), []);
});

it("a reader that is killed leaves no script on the machine", async (t) => {
  const { server, baseDir, here } = await prepare(t);
  const { id } = await here.spawn("sleep 600");
  const program = fileURLToPath(new URL("reader.mjs", import.meta.url));
  const args = [program, JSON.stringify(server.options), baseDir, id];
  const reader = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
  try {
    await until(() => waitingScripts(id).length > 0);
    reader.kill("SIGKILL");
    await until(() => waitingScripts(id).length === 0);
  } finally {
    reader.kill("SIGKILL");
    await here.terminate(id);
  }
});
