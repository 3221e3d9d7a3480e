// @ts-check
/** What is said at the end of a run. */

import { seconds } from "../progress.mjs";
import { resultsOf } from "./job.mjs";
import { slowest } from "./times.mjs";

/** @import { Done, Job, Result } from "./job.mjs" */

/** How many lines of what a failed test said are shown again. */
const MAX_LINES = 80;
const SLOWEST = 20;

/**
 * @typedef {object} Outcome
 * @property {readonly Done[]} done
 * @property {readonly Job[]} unchanged
 * @property {readonly { suite: string, reason: string, outcome: "skipped" | "failed" }[]} left suites that lack something
 * @property {number} ms the time of all
 */

/**
 * The report, whose last line tells how many passed and failed; and whether all is well.
 *
 * @param {Outcome} outcome
 */
export function reportOf({ done, unchanged, left, ms }) {
  const results = done.flatMap((job) => resultsOf(job));
  const passed = count(results, "passed");
  const failed =
    count(results, "failed") + left.filter(({ outcome }) => outcome === "failed").length;
  const isNothing = passed + failed === 0 && unchanged.length + left.length === 0;
  const text = [
    ...failures(results, left),
    ...skips(results, left),
    ...slowestTests(done),
    ...table(done, unchanged),
    ...leftOut(unchanged, done),
    `all in ${seconds(ms)}`,
    ...(isNothing ? ["No test ran."] : []),
    `${passed} passed, ${failed + (isNothing ? 1 : 0)} failed`,
  ].join("\n");
  return { text, isGreen: failed === 0 && !isNothing };
}

/** @param {readonly Result[]} results @param {string} outcome */
function count(results, outcome) {
  return results.filter((result) => result.outcome === outcome).length;
}

/** @param {readonly Result[]} results @param {Outcome["left"]} left */
function failures(results, left) {
  const lines = [];
  for (const { job, name, reason = "" } of results.filter(({ outcome }) => outcome === "failed")) {
    const said = reason.split("\n").slice(0, MAX_LINES).join("\n");
    lines.push("", `━━ failed: ${job}: ${name}`, said);
  }
  for (const { suite, reason, outcome } of left) {
    if (outcome === "failed") lines.push("", `━━ failed: ${suite}`, reason);
  }
  return lines;
}

/** @param {readonly Result[]} results @param {Outcome["left"]} left */
function skips(results, left) {
  /** @type {Map<string, string[]>} */
  const byReason = new Map();
  const add = (/** @type {string} */ reason, /** @type {string} */ what) =>
    byReason.set(reason, [...(byReason.get(reason) ?? []), what]);
  for (const { job, name, outcome, reason = "" } of results) {
    if (outcome === "skipped") add(reason, `${job}: ${name}`);
  }
  for (const { suite, reason, outcome } of left) {
    if (outcome === "skipped") add(reason, `the suite ${suite}`);
  }
  if (byReason.size === 0) return [];
  const lines = [...byReason].flatMap(([reason, whats]) => [
    `  ${reason}`,
    ...whats.map((what) => `    ${what}`),
  ]);
  return ["", "skipped:", ...lines];
}

/** @param {readonly Done[]} done */
function slowestTests(done) {
  const lines = slowest(done, SLOWEST).map(
    ({ job, name, ms }) => `${seconds(ms).padStart(9)}  ${job === name ? name : `${job}: ${name}`}`,
  );
  return lines.length === 0 ? [] : ["", `the ${lines.length} slowest tests:`, ...lines];
}

/** @param {readonly Done[]} done @param {readonly Job[]} unchanged */
function table(done, unchanged) {
  const suites = [...new Set([...done, ...unchanged].map(({ suite }) => suite))];
  // Jobs run beside each other, so the times of suites are more than the time of all.
  const lines = suites.map((suite) => {
    const own = done.filter((job) => job.suite === suite);
    const results = own.flatMap((job) => resultsOf(job));
    const numbers = ["passed", "failed", "skipped"]
      .map((outcome) => String(count(results, outcome)).padStart(8))
      .join("");
    const time = own.reduce((sum, { ms }) => sum + ms, 0);
    return `${suite.padEnd(13)}${numbers} ${seconds(time).padStart(9)}`;
  });
  return ["", "suite          passed  failed  skipped      time", ...lines];
}

/** @param {readonly Job[]} unchanged @param {readonly Done[]} done */
function leftOut(unchanged, done) {
  if (unchanged.length === 0) return [];
  const suites = [...new Set(unchanged.map(({ suite }) => suite))].map((suite) => {
    const jobs = unchanged.filter((job) => job.suite === suite);
    const isPart = done.some((job) => job.suite === suite && !job.isStep);
    return isPart ? `${suite} (${jobs.length} of its jobs)` : suite;
  });
  return [
    "",
    `left out, for nothing has changed since they passed here: ${suites.join(", ")}`,
    "`npm test -- --all` runs them, too.",
  ];
}

/**
 * Which tests failed how often in so many rounds.
 *
 * @param {readonly (readonly Done[])[]} rounds
 */
export function tallyOf(rounds) {
  /** @type {Map<string, number>} */
  const failed = new Map();
  for (const done of rounds) {
    for (const { job, name, outcome } of done.flatMap((job) => resultsOf(job))) {
      const test = `${job}: ${name}`;
      if (outcome === "failed") failed.set(test, (failed.get(test) ?? 0) + 1);
    }
  }
  if (failed.size === 0) return `No test failed in ${rounds.length} rounds.`;
  const lines = [...failed].sort(([, a], [, b]) => b - a);
  return [
    `failed, in ${rounds.length} rounds:`,
    ...lines.map(([test, times]) => `${String(times).padStart(4)} ×  ${test}`),
  ].join("\n");
}
