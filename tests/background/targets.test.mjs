// @ts-check
// Tests of targets without setsid or /proc.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import * as sandpipe from "sandpipe";
import { localRuntime } from "sandpipe/node";

import { until } from "../support/processes.mjs";
import { directoryOfTests, fails, groupMembers, offspring } from "../support/target.mjs";
import { inTime } from "./in-time.mjs";
import { shellOf } from "./shells.mjs";

/** @import { Background, BackgroundOptions, Runtime } from "sandpipe" */

/** @param {Runtime} runtime @param {BackgroundOptions} options */
const background = (runtime, options) => inTime(sandpipe.background(runtime, options));

describe("background processes on a target without setsid", () => {
  const { directory, subdirectory } = directoryOfTests();

  it("need none where the shell has job control", async () => {
    const shell = shellOf("bash", subdirectory("bash"), { without: ["setsid"] });
    await startsAndStops(localRuntime({ shell }), join(directory, "a"));
  });

  it("borrow bash for it where they find one", async () => {
    // What busybox alone has no name for.
    const bash = execFileSync("sh", ["-c", "command -v bash"], { encoding: "utf8" }).trim();
    for (const name of /** @type {const} */ (["dash", "busybox"])) {
      const options = { without: ["setsid"], programs: { bash } };
      const shell = shellOf(name, subdirectory(`borrowing ${name}`), options);
      await startsAndStops(localRuntime({ shell }), join(directory, name));
    }
  });

  it("say that there is no process group to be had", async () => {
    for (const name of /** @type {const} */ (["dash", "busybox"])) {
      const options = { without: ["setsid", "bash", "rbash"] };
      const shell = shellOf(name, subdirectory(`neither ${name}`), options);
      const processes = background(localRuntime({ shell }), { baseDir: join(directory, "c") });
      const spawning = () => processes.spawn("true");
      await fails(spawning, /neither setsid nor a shell with job control/);
      assert.deepEqual(await processes.list(), []);
    }
  });
});

describe("background processes on a target without /proc", () => {
  const { directory } = directoryOfTests();

  for (const shell of ["dash", "bash"]) {
    // That of busybox reads /proc, and nothing else.
    it(`ask ps, with ${shell}`, async () => {
      const local = localRuntime({ shell });
      // What ps tells comes from there, so it can't be taken away altogether.
      const hidden = /** @type {Runtime} */ ({
        run: (script, opts) => local.run(script.replaceAll("/proc/", "/no proc/"), opts),
      });
      const baseDir = join(directory, shell);
      const processes = await startsAndStops(hidden, baseDir);
      const { id, pid } = await processes.spawn("trap '' TERM; sleep 600", { timeoutMs: 100 });
      await processes.terminate(id, { graceMs: 0 });
      assert.deepEqual(groupMembers(pid), []);
    });
  }
});

describe("a time limit of a background process", () => {
  const { directory, subdirectory } = directoryOfTests();

  it("begins with its script, however long the start takes", async () => {
    const programs = subdirectory("slow");
    // It is asked for the time of the start.
    const date = join(programs, "slow-date");
    writeFileSync(date, '#!/bin/sh\nsleep 0.5\nPATH=/usr/bin:/bin exec date "$@"\n', {
      mode: 0o755,
    });
    const shell = shellOf("dash", subdirectory("dash"), { programs: { date } });
    const processes = background(localRuntime({ shell }), { baseDir: join(directory, "a") });
    const { id } = await processes.spawn("sleep 600", { timeoutMs: 100 });
    assert.equal((await processes.wait(id)).exitCode, 124);
  });
});

/** @param {Runtime} runtime @param {string} baseDir @returns {Promise<Background>} */
async function startsAndStops(runtime, baseDir) {
  const processes = background(runtime, { baseDir });
  assert.deepEqual(await processes.run("kill -INT $$"), { output: "", exitCode: 130 });
  const { id, pid } = await processes.spawn("sleep 600 & sleep 600");
  assert.equal((await processes.get(id)).status, "running");
  const { status, exitCode } = await processes.terminate(id);
  assert.deepEqual([status, exitCode, groupMembers(pid)], ["killed", 143, []]);
  const suspended = await processes.spawn("kill -STOP 0; sleep 600", { timeoutMs: 100 });
  assert.equal((await processes.wait(suspended.id)).exitCode, 124);
  await until(() => offspring(suspended.id).length === 0);
  return processes;
}
