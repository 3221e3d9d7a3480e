// @ts-check
/**
 * A job is a part of a suite that runs as one process: a file of tests, a test program, a check.
 *
 * @typedef {"processor" | "waiting" | "alone"} Lane what a job takes: a processor; time, most of which it waits; the
 * whole machine
 *
 * @typedef {object} TestResult
 * @property {string} name with the names of what is around the test
 * @property {"passed" | "failed" | "skipped"} outcome
 * @property {number} ms
 * @property {string} [reason] why it was skipped, or what it said when it failed
 *
 * @typedef {object} JobResult
 * @property {TestResult[]} tests
 * @property {string} [failure] what went wrong beside the tests
 * @property {Job[]} [next] jobs that this one has made possible
 *
 * @typedef {object} Job
 * @property {string} suite
 * @property {string} name unique, and the same in each run
 * @property {Lane} lane
 * @property {string} [apart] no two jobs with the same value run at a time
 * @property {readonly string[]} inputs files and directories that its result depends on; `!` before one leaves it out
 * @property {boolean} [isStep] it makes others possible and has no tests of its own
 * @property {boolean} [mayBeEmpty] it is no failure that it runs no test
 * @property {boolean} [hasBudget] it may take no longer than budgets.mjs says
 * @property {() => Promise<JobResult>} run
 *
 * @typedef {Job & JobResult & { ms: number }} Done
 */

/** @typedef {{ suite: string, job: string, name: string, outcome: string, reason?: string }} Result */

/**
 * The results of a job's tests. A job that fails beside its tests, or has none, has failed, too.
 *
 * @param {Done} done
 * @returns {Result[]}
 */
export function resultsOf({ suite, name: job, isStep, mayBeEmpty, tests, failure }) {
  const results = tests.map((test) => ({ suite, job, ...test }));
  const isMissing = tests.length === 0 && isStep !== true && mayBeEmpty !== true;
  const reason = failure ?? (isMissing ? "It ran no test." : undefined);
  if (reason === undefined) return results;
  return [...results, { suite, job, name: "(beside its tests)", outcome: "failed", reason }];
}

/** @param {Done} done */
export function hasFailed(done) {
  return resultsOf(done).some(({ outcome }) => outcome === "failed");
}
