// @ts-check
// Which jobs run at a time, and in which order.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { runJobs } from "../../scripts/suites/lanes.mjs";
import { longestFirst } from "../../scripts/suites/times.mjs";
import { until } from "../support/processes.mjs";

/** @import { Job, Lane } from "../../scripts/suites/job.mjs" */

/** @param {string} name @param {Lane} lane @param {{ apart?: string }} [options] @returns {Job} */
const job = (name, lane, options = {}) => ({
  ...{ suite: "a suite", name, lane, inputs: [], ...options },
  run: async () => ({ tests: [] }),
});

/** Runs jobs one step at a time, and tells which run at each. */
class Steps {
  /** @type {Map<string, (next: readonly Job[]) => void>} */
  #running = new Map();

  /** @param {readonly Job[]} jobs */
  constructor(jobs) {
    this.over = runJobs(jobs, ({ name }) => {
      return new Promise((resolve) => this.#running.set(name, resolve));
    });
  }

  get running() {
    return [...this.#running.keys()].sort();
  }

  /** Ends a job, and waits until others have begun. @param {string} name @param {readonly Job[]} next */
  async end(name, ...next) {
    const resolve = this.#running.get(name);
    assert.ok(resolve !== undefined, `${name} runs`);
    this.#running.delete(name);
    resolve(next);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("jobs", () => {
  it("run four at a time where they wait, beside one that takes a processor", async () => {
    const waiting = ["a", "b", "c", "d", "e"].map((name) => job(name, "waiting"));
    const steps = new Steps([job("p", "processor"), job("q", "processor"), ...waiting]);
    assert.deepEqual(steps.running, ["a", "b", "c", "d", "p"]);
    await steps.end("b");
    assert.deepEqual(steps.running, ["a", "c", "d", "e", "p"]);
    await steps.end("p");
    assert.deepEqual(steps.running, ["a", "c", "d", "e", "q"]);
    for (const name of steps.running) await steps.end(name);
    await steps.over;
  });

  it("take a second processor when nothing waits any more, unless they are to run apart", async () => {
    const apart = { apart: "the same directory" };
    const steps = new Steps([
      job("wait", "waiting"),
      ...["p", "q"].map((name) => job(name, "processor", apart)),
      job("r", "processor"),
    ]);
    assert.deepEqual(steps.running, ["p", "wait"]);
    await steps.end("wait");
    assert.deepEqual(steps.running, ["p", "r"]);
    await steps.end("r");
    assert.deepEqual(steps.running, ["p"]);
    await steps.end("p");
    assert.deepEqual(steps.running, ["q"]);
    await steps.end("q");
    await steps.over;
  });

  it("are followed by those that they make possible", async () => {
    const steps = new Steps(["p", "q", "r"].map((name) => job(name, "processor")));
    assert.deepEqual(steps.running, ["p", "q"]);
    await steps.end("p", job("made possible", "processor"));
    assert.deepEqual(steps.running, ["made possible", "q"]);
    for (const name of ["made possible", "q", "r"]) await steps.end(name);
    await steps.over;
  });

  it("have the machine for themselves at the end where they ask for it", async () => {
    const steps = new Steps([job("x", "alone"), job("y", "alone"), job("a", "waiting")]);
    assert.deepEqual(steps.running, ["a"]);
    await steps.end("a", job("made possible", "processor"));
    assert.deepEqual(steps.running, ["made possible"]);
    await steps.end("made possible");
    assert.deepEqual(steps.running, ["x"]);
    await steps.end("x");
    assert.deepEqual(steps.running, ["y"]);
    await steps.end("y");
    await steps.over;
  });

  it("begin with the longest of those that wait, and with those of which nothing is known", () => {
    const jobs = ["short", "long", "new"].map((name) => job(name, "waiting"));
    const sorted = longestFirst([job("p", "processor"), ...jobs], { short: 1, long: 2, p: 9 });
    assert.deepEqual(
      sorted.map(({ name }) => name),
      ["p", "new", "long", "short"],
    );
  });

  it("end all when one of them can't be run", async () => {
    const failing = runJobs([job("a", "waiting")], () => Promise.reject(new Error("a defect")));
    await assert.rejects(failing, /a defect/);
    await until(() => true);
  });
});
