// @ts-check
// Tests of what background processes share with this machine, and with the shell that starts them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import * as sandpipe from "sandpipe";
import { localRuntime } from "sandpipe/node";

import { processesThat, until } from "../support/processes.mjs";
import { directoryOfTests, fails, groupMembers, offspring } from "../support/target.mjs";
import { inTime } from "./in-time.mjs";
import { shellOf, SHELLS } from "./shells.mjs";
import { LONG_MS } from "./suite/subject.mjs";

/** @import { BackgroundOptions, Runtime } from "sandpipe" */

/** @param {Runtime} runtime @param {BackgroundOptions} [options] */
const background = (runtime, options) => inTime(sandpipe.background(runtime, options));

describe("background processes", () => {
  const { directory, subdirectory } = directoryOfTests();
  const local = localRuntime();

  it("are for their owner's eyes alone", async () => {
    const baseDir = join(directory, "private", "base");
    const processes = background(local, { baseDir });
    const { id, outputDir } = await processes.spawn("umask");
    await processes.wait(id);
    const modes = execFileSync("stat", ["-c", "%a", baseDir, outputDir], { encoding: "utf8" });
    assert.equal(modes, "700\n700\n");
    // Not so what they make.
    const { output } = await local.run("umask");
    assert.equal((await processes.readOutput(id)).output, output);
    // The script that leads it had the environment in it.
    assert.equal(existsSync(join(outputDir, "supervise")), false);
  });

  it("have failed when nothing is left of them", async () => {
    const processes = background(local, { baseDir: join(directory, "killed") });
    const { id, pid } = await processes.spawn("echo begun; sleep 600");
    await processes.readOutput(id, { waitMs: LONG_MS });
    process.kill(-pid, "SIGKILL");
    await until(() => groupMembers(pid).length === 0);
    const { status, exitCode } = await processes.wait(id);
    assert.deepEqual([status, exitCode], ["failed", undefined]);
    assert.equal((await processes.readOutput(id)).output, "begun\n");
    assert.equal((await processes.terminate(id)).status, "failed");

    const running = processes.run("echo $PPID; sleep 600");
    await until(async () => (await processes.list()).length === 2);
    const { pid: leader } =
      (await processes.list()).find(({ status }) => status === "running") ?? {};
    process.kill(-(leader ?? 0), "SIGKILL");
    await fails(() => running, /left no exit code/);
  });

  it("hear an answer amid noise", async () => {
    const noisy = /** @type {Runtime} */ ({
      async run(script, opts) {
        const { exitCode, output } = await local.run(`set -v; ${script}`, opts);
        return { exitCode, output: `Welcome!\r\n${script}${output}Goodbye.` };
      },
    });
    const processes = background(noisy, { baseDir: join(directory, "noise") });
    const { output, exitCode } = await processes.run("printf 'no end'; exit 3");
    assert.deepEqual([output, exitCode], ["no end", 3]);
  });

  for (const name of SHELLS) {
    it(`hold nothing open of what the runtime's shell has open, with ${name}`, async () => {
      const log = join(directory, `open ${name}`);
      const plain = localRuntime({ shell: shellOf(name, subdirectory(name)) });
      const holding = /** @type {Runtime} */ ({
        run: (script, opts) => plain.run(`exec 3>'${log}' 5>&3 9>&3; ${script}`, opts),
      });
      const processes = background(holding, { baseDir: join(directory, `held ${name}`) });
      const { id } = await processes.spawn("sleep 600", { timeoutMs: 600_000 });
      // The last that the shell which leads it and the watchdog start is a long sleep of each.
      const sleeps = (/** @type {string} */ member) =>
        /^sleep\x00600/.test(readFileSync(`/proc/${member}/cmdline`, "utf8"));
      await until(() => {
        const members = offspring(id);
        return processesThat((one) => members.includes(one) && sleeps(one)).length === 2;
      });
      // From then on they stay as they are.
      const members = offspring(id);
      assert.ok(members.length >= 5, members.join());
      for (const member of members) {
        const open = readdirSync(`/proc/${member}/fd`).map((fd) =>
          readlinkSync(`/proc/${member}/fd/${fd}`),
        );
        assert.ok(!open.includes(log), open.join());
      }
      await processes.terminate(id);
    });
  }

  it("tell what a shell said that did not answer", async () => {
    /** @param {unknown} result */
    const answering = (result) =>
      background({ run: () => Promise.resolve(/** @type {any} */ (result)) });
    await fails(
      () => answering({ exitCode: 127, output: "sh: not found" }).list(),
      /exit code 127 before it had answered: sh: not found/,
    );
    await fails(() => answering({ exitCode: 0 }).list(), /something else than/);
    await fails(() => answering(undefined).list(), /something else than/);
    const broken = new Error("connection lost");
    await assert.rejects(
      background({ run: () => Promise.reject(broken) }).list(),
      (error) => error === broken,
    );
  });
});
