// @ts-check
/** Runs the jobs of suites, leaves out what has passed with the same inputs, and keeps what came of them. */

import { explanation } from "../command.mjs";
import { seconds } from "../progress.mjs";
import { hasFailed } from "./job.mjs";
import { runJobs } from "./lanes.mjs";
import { isStopping } from "./program.mjs";
import { keepTimes, keptTimes, longestFirst, timesFile } from "./times.mjs";
import {
  Fingerprints,
  isExpectedSkip,
  machine,
  memoryFile,
  passedBefore,
  rememberPassed,
} from "./unchanged.mjs";

/** @import { Done, Job, JobResult } from "./job.mjs" */

/**
 * @typedef {object} RunOptions
 * @property {boolean} isAll what has not changed runs all the same
 * @property {boolean} isRemembered what passes is remembered: not where tests were chosen, or the machine is kept busy
 * @property {(line: string) => void} say
 * @property {string} [memory] where it is remembered
 * @property {string} [times] where times are kept
 */

/**
 * @param {readonly Job[]} jobs
 * @param {RunOptions} options
 * @returns {Promise<{ done: Done[], unchanged: Job[] }>}
 */
export async function runAll(jobs, options) {
  const { isAll, isRemembered, say, memory = memoryFile, times: kept = timesFile } = options;
  const here = machine();
  const before = new Fingerprints(here);
  const passed = passedBefore(memory);
  const times = keptTimes(kept);
  /** @type {Done[]} */
  const done = [];
  /** @type {Job[]} */
  const unchanged = [];
  /** @type {Map<string, string>} by the names of jobs */
  const fingerprints = new Map();

  await runJobs(longestFirst(jobs, times), async (job) => {
    if (isStopping()) return [];
    const fingerprint = before.of(job.inputs);
    fingerprints.set(job.name, fingerprint);
    if (!isAll && passed[job.name] === fingerprint) {
      unchanged.push(job);
      return [];
    }
    const result = await timed(job);
    done.push(result);
    times[job.name] = result.ms;
    const line = lineOf(result);
    if (line !== undefined) say(line);
    return longestFirst(result.next ?? [], times);
  });

  keepTimes(times, kept);
  if (isRemembered && !isStopping()) {
    const after = new Fingerprints(here);
    for (const job of done) delete passed[job.name];
    for (const job of done.filter((job) => isSettled(job, done))) {
      // What was changed meanwhile was not tested as it is now.
      const fingerprint = fingerprints.get(job.name);
      if (fingerprint !== undefined && after.of(job.inputs) === fingerprint) {
        passed[job.name] = fingerprint;
      }
    }
    rememberPassed(passed, memory);
  }
  return { done, unchanged };
}

/**
 * Whether a job need not run again with the same inputs. For a step that goes for all that it has made possible.
 *
 * @param {Done} job
 * @param {readonly Done[]} all
 * @returns {boolean}
 */
function isSettled(job, all) {
  if (hasFailed(job)) return false;
  if (job.isStep) {
    const next = all.filter(({ suite, isStep }) => suite === job.suite && !isStep);
    return next.every((one) => isSettled(one, all));
  }
  const isUnexpected = job.tests.some(
    ({ outcome, reason }) => outcome === "skipped" && !isExpectedSkip(reason),
  );
  return !isUnexpected;
}

/**
 * Runs a job. What can't run has failed.
 *
 * @param {Job} job
 * @returns {Promise<Done>}
 */
async function timed(job) {
  const start = performance.now();
  /** @type {JobResult} */
  const result = await job.run().catch((error) => {
    const text = explanation(error);
    return {
      tests: [],
      failure: text instanceof Error ? (text.stack ?? text.message) : String(text),
    };
  });
  return { ...job, ...result, ms: performance.now() - start };
}

/** @param {Done} done @returns {string | undefined} nothing where there is nothing to tell */
function lineOf(done) {
  const { suite, name, isStep, tests, ms } = done;
  const count = (/** @type {string} */ outcome) =>
    tests.filter((test) => test.outcome === outcome).length;
  const numbers = ["passed", "failed", "skipped"]
    .filter((outcome) => count(outcome) > 0)
    .map((outcome) => `${count(outcome)} ${outcome}`);
  const what = isStep ? "" : ` ${numbers.join(", ") || "no tests"},`;
  const label = name.startsWith("tests/") ? name : `${suite}: ${name}`;
  if (tests.length === 0 && done.mayBeEmpty === true) return undefined;
  return `${hasFailed(done) ? "✖" : "✔"} ${label}:${what} ${seconds(ms)}`;
}
