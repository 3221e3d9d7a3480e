// @ts-check
/** Runs jobs in two lanes at a time: those that wait beside those that take a processor. */

/** @import { Job, Lane } from "./job.mjs" */

/** How many jobs of a lane run at a time. Most of the waiting ones wait most of the time. */
const WIDTH = { processor: 1, waiting: 4, alone: 1 };

/** The same for the processor's lane, as soon as nothing waits beside it. */
const WIDTH_OF_PROCESSOR_ALONE = 2;

/**
 * The next job to start; undefined when all have to wait for one that runs.
 *
 * @param {readonly Job[]} queue in the order in which they are to be started
 * @param {readonly Job[]} running
 */
export function nextJob(queue, running) {
  const isIn = (/** @type {Lane} */ lane) => (/** @type {Job} */ job) => job.lane === lane;
  const isNothingWaiting = ![...queue, ...running].some(isIn("waiting"));
  return queue.find((job) => {
    if (job.apart !== undefined && running.some(({ apart }) => apart === job.apart)) return false;
    if (running.some(isIn("alone"))) return false;
    if (job.lane === "alone") {
      return running.length === 0 && queue.every(isIn("alone"));
    }
    const isWide = job.lane === "processor" && isNothingWaiting;
    const width = isWide ? WIDTH_OF_PROCESSOR_ALONE : WIDTH[job.lane];
    return running.filter(isIn(job.lane)).length < width;
  });
}

/**
 * Runs all jobs, and those that they make possible.
 *
 * @param {readonly Job[]} jobs in the order in which they are to be started
 * @param {(job: Job) => Promise<readonly Job[]>} run resolves with the jobs that it has made possible
 */
export async function runJobs(jobs, run) {
  const queue = [...jobs];
  /** @type {Map<Job, Promise<void>>} */
  const running = new Map();
  for (;;) {
    for (
      let job = nextJob(queue, [...running.keys()]);
      job !== undefined;
      job = nextJob(queue, [...running.keys()])
    ) {
      start(job);
    }
    if (running.size === 0) return;
    await Promise.race(running.values());
  }

  /** @param {Job} job */
  function start(job) {
    queue.splice(queue.indexOf(job), 1);
    const done = run(job).then((next) => {
      // They have waited already.
      queue.unshift(...next);
      running.delete(job);
    });
    running.set(job, done);
  }
}
