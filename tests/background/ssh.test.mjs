// @ts-check
// Background processes over SSH.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { it } from "node:test";
import { fileURLToPath } from "node:url";

import { background, BackgroundError, SshError } from "sandpipe";
import { localRuntime, sshRuntime } from "sandpipe/node";

import { openSshRuntime, startSshd } from "../support/sshd.mjs";
import { failure } from "../support/script.mjs";
import { until } from "../support/processes.mjs";
import { testBackground } from "./suite.mjs";
import { temporaryDirectory } from "../support/target.mjs";

testBackground("a machine over SSH", openSshRuntime);

it("tells what was not started from what may have been", { timeout: 60_000 }, async () => {
  const server = await startSshd();
  const baseDir = temporaryDirectory();
  const here = background(localRuntime(), { baseDir });
  const runtime = sshRuntime(server.options);
  const there = background(runtime, { baseDir });

  // The connection breaks after the process was started, and before that is told.
  const breaking = background(
    {
      run: async (script) => {
        const running = runtime.run(`{ ${script}\n} >/dev/null; sleep 600`);
        await until(async () => (await here.list()).length === 1);
        for (const pid of server.connections()) process.kill(pid, "SIGKILL");
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

  await server.stop();
  for (const start of [() => there.spawn("true"), () => there.run("true")]) {
    const error = await failure(start());
    assert.ok(error instanceof SshError, String(error));
    assert.equal(error.mayHaveRun, false);
  }
  assert.deepEqual(await here.list(), []);
  await runtime.close();
  rmSync(baseDir, { recursive: true });
});

it("a reader that is killed leaves no script on the machine", { timeout: 120_000 }, async () => {
  const server = await startSshd();
  const baseDir = temporaryDirectory();
  const here = background(localRuntime(), { baseDir });
  const { id } = await here.spawn("sleep 600");
  const program = fileURLToPath(new URL("reader.mjs", import.meta.url));
  const args = [program, JSON.stringify(server.options), baseDir, id];
  const reader = spawn(process.execPath, args, { stdio: "inherit" });
  await until(() => readingScripts(baseDir).length > 0);
  const begin = performance.now();
  reader.kill("SIGKILL");
  await until(() => readingScripts(baseDir).length === 0);
  // It waits for 20 s at a time.
  assert.ok(performance.now() - begin < 15_000);
  await here.terminate(id);
  await server.stop();
  rmSync(baseDir, { recursive: true });
});

/** The shells that wait for output below a directory. @param {string} baseDir */
function readingScripts(baseDir) {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "latin1");
      return command.includes(baseDir) && command.includes("while_read");
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });
}
