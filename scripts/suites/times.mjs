// @ts-check
/** How long jobs take is kept: the longest begin first. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { results } from "./program.mjs";

/** @import { Done, Job } from "./job.mjs" */

/** Where that is kept. */
export const timesFile = join(results, "times.json");

/** @returns {Record<string, number>} milliseconds by the names of jobs */
export function keptTimes(kept = timesFile) {
  try {
    return JSON.parse(readFileSync(kept, "utf8"));
  } catch {
    // There has been no run, or it was ended while it wrote.
    return {};
  }
}

/** @param {Record<string, number>} times */
export function keepTimes(times, kept = timesFile) {
  mkdirSync(dirname(kept), { recursive: true });
  writeFileSync(kept, `${JSON.stringify(times, undefined, 2)}\n`);
}

/**
 * Jobs with the longest first among those that wait. The others stay in order, for some make others possible. What has
 * never run may take long.
 *
 * @param {readonly Job[]} jobs
 * @param {Record<string, number>} times
 */
export function longestFirst(jobs, times) {
  const time = (/** @type {Job} */ { name }) => times[name] ?? Infinity;
  const waiting = jobs.filter(({ lane }) => lane === "waiting");
  // Infinity - Infinity is no number.
  waiting.sort((a, b) => (time(a) === time(b) ? 0 : time(b) - time(a)));
  return [...jobs.filter(({ lane }) => lane !== "waiting"), ...waiting];
}

/**
 * The tests that took longest.
 *
 * @param {readonly Done[]} done
 * @param {number} count
 */
export function slowest(done, count) {
  const tests = done.flatMap(({ name: job, tests }) => tests.map((test) => ({ job, ...test })));
  return tests.sort((a, b) => b.ms - a.ms).slice(0, count);
}
