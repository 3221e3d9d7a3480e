// @ts-check
/** There is little memory beyond what the agent has when it starts. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { connect, isSandpipeError } from "sandpipe";
import { memoryOf, startLimitedAgent } from "./limited-agent.mjs";
import { checkAfterwards, checkObserved, startObserved, UNTIL_IDLE_MS } from "./observed.mjs";
import { Row } from "./row.mjs";

const MEGABYTE = 1 << 20;
/** Of it 32 MiB are kept for what runs: where there are not more, no exec is begun. */
const MORE = 48 * MEGABYTE;
const WRITERS = 4;

/** @type {import("./row.mjs").Scenario} */
export const memory = {
  name: "memory",
  async run(deadline) {
    const name = `memory: ${MORE / MEGABYTE} MiB more than at the start, ${WRITERS} execs with output`;
    return [await new Row(name).repeat(deadline, once)];
  },
};

/** @param {import("./row.mjs").Promises} promises */
async function once(promises) {
  const limited = await startLimitedAgent({ limits: ["--core=0:0"] });
  const sandbox = await connect(limited.agent);
  const { execs } = sandbox;
  try {
    const observed = await startObserved(execs, 4);
    const limit = (await memoryOf(limited.pid, "VmSize")) + MORE;
    execFileSync("prlimit", [`--pid=${limited.pid}`, `--as=${limit}:${limit}`]);
    promises.struck += 1;
    await pause(UNTIL_IDLE_MS);
    const writing = Array.from({ length: WRITERS }, () => write(promises, execs));
    await checkObserved(promises, execs, observed);
    await Promise.all(writing);
    await promises.keeps("the agent lives", 10_000, async () => {
      await memoryOf(limited.pid, "VmSize");
    });
    await checkAfterwards(promises, execs);
  } finally {
    sandbox.close();
    await limited.stop();
  }
}

/**
 * @param {import("./row.mjs").Promises} promises
 * @param {import("sandpipe").Execs} execs
 */
async function write(promises, execs) {
  await promises.keeps("a result is true or an error", 120_000, async () => {
    try {
      const script = "head -c 8000000 /dev/zero | tr '\\0' x; exit 5";
      const { exitCode, output } = await execs.exec("sh", ["-c", script]);
      // What the shell itself lacks memory for fails with its own code.
      if (exitCode === 5) assert.equal(output, "x".repeat(8_000_000));
      else assert.ok(/memory|fork|Resource/i.test(output), `${exitCode}: ${output.slice(0, 200)}`);
    } catch (error) {
      // To refuse it, or to say that it is not known, is no lie.
      if (!isSandpipeError(error, "http") && !isSandpipeError(error, "exit_code_missing"))
        throw error;
    }
  });
}
