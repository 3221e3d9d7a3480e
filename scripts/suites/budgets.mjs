// @ts-check
/** No file of tests may grow slow unseen: each has a budget, which is a check. */

import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { seconds } from "../progress.mjs";

/** @import { Done } from "./job.mjs" */

/** What a file may take by itself: one that takes longer is to be split, or made faster. */
export const BUDGET_MS = 20_000;

/** So many jobs share the processors while the lanes are full. */
const JOBS_AT_A_TIME = 5;

/** How long the processors are looked at, and how busy they may be for a time to mean something. */
const LOOK_MS = 500;
const MAX_BUSY = 0.3;

/**
 * The files that may be over their budget: those that were, had they had their share of the processors.
 *
 * @param {readonly Done[]} done
 */
export function suspects(done) {
  const limit = BUDGET_MS * Math.max(1, JOBS_AT_A_TIME / availableParallelism());
  return done.filter(({ hasBudget, ms }) => hasBudget === true && ms > limit);
}

/** @param {Done} done how a suspect did by itself @returns {Done} the check, and what failed meanwhile */
export function budgetCheck({ name: file, ms, tests, ...job }) {
  const name = `${file} takes at most ${seconds(BUDGET_MS)}`;
  const failed = tests.filter(({ outcome }) => outcome === "failed");
  /** @type {import("./job.mjs").TestResult} */
  const test =
    ms <= BUDGET_MS
      ? { name, outcome: "passed", ms }
      : {
          name,
          outcome: "failed",
          ms,
          reason: `It took ${seconds(ms)} with the machine for itself.`,
        };
  return { ...job, suite: "budgets", name, tests: [...failed, test], ms };
}

/** Whether other programs keep the processors busy, so that times say nothing. */
export async function isMachineBusy() {
  const before = processorTimes();
  await pause(LOOK_MS);
  const after = processorTimes();
  return (after.busy - before.busy) / Math.max(1, after.all - before.all) > MAX_BUSY;
}

/** Those of all processors since the start of the system (proc_stat(5)). */
function processorTimes() {
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number);
  const busy = user + nice + system;
  return { busy, all: busy + idle + waiting };
}
