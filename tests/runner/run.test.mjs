// @ts-check
// Which jobs run again, what is remembered, and what is reported at the end.
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { after, before, describe, it } from "node:test";

import { root, target } from "../../scripts/project.mjs";
import { budgetCheck, suspects } from "../../scripts/suites/budgets.mjs";
import { prepareNeeds } from "../../scripts/suites/needs.mjs";
import { reportOf, tallyOf } from "../../scripts/suites/report.mjs";
import { runAll } from "../../scripts/suites/run.mjs";
import { Fingerprints } from "../../scripts/suites/unchanged.mjs";

/** @import { Done, Job, TestResult } from "../../scripts/suites/job.mjs" */

const folder = join(target, "runner-test");
const input = relative(root, join(folder, "input"));
const write = (/** @type {string} */ text) => writeFileSync(join(root, input), text);

before(() => mkdirSync(folder, { recursive: true }));
after(() => rmSync(folder, { recursive: true }));

/** @type {TestResult} */
const PASSED = { name: "a test", outcome: "passed", ms: 1 };
/** @type {TestResult} */
const FAILED = { name: "another", outcome: "failed", ms: 2, reason: "a reason" };

/** @param {Partial<Job> & { tests?: TestResult[], failure?: string, next?: Job[] }} options @returns {Job} */
function job({ tests = [PASSED], failure, next, ...options }) {
  return {
    ...{ suite: "a suite", name: "a job", lane: "waiting", inputs: [input] },
    run: async () => ({
      tests,
      ...(failure === undefined ? {} : { failure }),
      ...(next === undefined ? {} : { next }),
    }),
    ...options,
  };
}

const memory = { memory: join(folder, "passed.json"), times: join(folder, "times.json") };
/** @param {Job[]} jobs @param {{ isAll?: boolean, isRemembered?: boolean }} [options] */
async function run(jobs, { isAll = false, isRemembered = true } = {}) {
  const { done, unchanged } = await runAll(jobs, { isAll, isRemembered, say: () => {}, ...memory });
  return [done.map(({ name }) => name), unchanged.map(({ name }) => name)];
}

describe("a job that has passed", () => {
  it("is left out until an input changes, or everything is to run", async () => {
    write("one");
    assert.deepEqual(await run([job({})]), [["a job"], []]);
    assert.deepEqual(await run([job({})]), [[], ["a job"]]);
    assert.deepEqual(await run([job({})], { isAll: true }), [["a job"], []]);
    write("two");
    assert.deepEqual(await run([job({})]), [["a job"], []]);
  });

  it("is not remembered with a failure, without tests, or with a skip that may be mended", async () => {
    /** @type {[string, Parameters<typeof job>[0]][]} */
    const cases = [
      ["fails", { tests: [PASSED, FAILED] }],
      ["fails beside its tests", { failure: "it ended with 1" }],
      ["has no tests", { tests: [] }],
      ["lacks a program", { tests: [{ ...PASSED, outcome: "skipped", reason: "no podman" }] }],
    ];
    for (const [name, options] of cases) {
      write(name);
      for (let times = 0; times < 2; times += 1) {
        assert.deepEqual(await run([job({ ...options, name })]), [[name], []]);
      }
    }
    // The user decides this one, and the user is a part of the fingerprint.
    const asUser = { tests: [{ ...PASSED, outcome: "skipped", reason: "needs root" }] };
    const name = "as a user";
    await run([job(/** @type {any} */ ({ ...asUser, name }))]);
    assert.deepEqual(await run([job(/** @type {any} */ ({ ...asUser, name }))]), [[], [name]]);
  });

  it("is not remembered where tests were chosen, or when an input was changed meanwhile", async () => {
    write("chosen");
    await run([job({})], { isRemembered: false });
    assert.deepEqual(
      await run([job({ run: async () => (write("meanwhile"), { tests: [PASSED] }) })]),
      [["a job"], []],
    );
    assert.deepEqual(await run([job({})]), [["a job"], []]);
  });

  it("that makes others possible is left out when all of those have passed", async () => {
    write("steps");
    const step = (/** @type {TestResult[]} */ tests) =>
      job({ name: "build", isStep: true, tests: [], next: [job({ name: "test", tests })] });
    assert.deepEqual(await run([step([FAILED])]), [["build", "test"], []]);
    assert.deepEqual(await run([step([PASSED])]), [["build", "test"], []]);
    assert.deepEqual(await run([step([PASSED])]), [[], ["build"]]);
  });
});

it("fingerprints differ with a file's name, its text, what is left out, and the machine", () => {
  const paths = ["a/x", "a/b/y", "c"].map((path) => join(folder, "tree", path));
  for (const path of paths) {
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, path);
  }
  const tree = relative(root, join(folder, "tree"));
  const of = (/** @type {string[]} */ ...inputs) => new Fingerprints("a machine").of(inputs);
  const all = of(tree);
  assert.equal(of(tree), all);
  assert.notEqual(new Fingerprints("another").of([tree]), all);
  assert.notEqual(of(tree, `!${tree}/a/b`), all);
  const without = of(tree, `!${tree}/a/b`);
  writeFileSync(join(folder, "tree/a/b/y"), "changed");
  assert.notEqual(of(tree), all);
  assert.equal(of(tree, `!${tree}/a/b`), without);
  rmSync(join(folder, "tree/c"));
  assert.notEqual(of(tree, `!${tree}/a/b`), without);
});

describe("the report", () => {
  const done = (/** @type {Partial<Done>} */ options) =>
    /** @type {Done} */ ({ ...job({}), tests: [PASSED], ms: 1000, ...options });
  const lastLine = (/** @type {string} */ text) => text.split("\n").at(-1);

  it("ends with how many passed and failed, and tells again what failed, and why", () => {
    const failing = done({ name: "b", tests: [PASSED, FAILED] });
    const dying = done({ name: "c", tests: [PASSED], failure: "It ended with 1." });
    const all = [done({}), failing, dying];
    const { text, isGreen } = reportOf({ done: all, unchanged: [], left: [], ms: 1 });
    assert.equal(isGreen, false);
    assert.equal(lastLine(text), "3 passed, 2 failed");
    assert.match(text, /━━ failed: b: another\na reason\n/);
    assert.match(text, /━━ failed: c: \(beside its tests\)\nIt ended with 1\.\n/);
    assert.match(text, /\n +0\.0 s {2}b: another\n/);
  });

  it("counts and lists what was skipped, by reason", () => {
    const tests = [PASSED, { ...PASSED, name: "root's", outcome: "skipped", reason: "needs root" }];
    const { text, isGreen } = reportOf({
      done: [done({ tests: /** @type {TestResult[]} */ (tests) })],
      unchanged: [],
      left: [{ suite: "python", reason: "needs Python 3.11: it is not there", outcome: "skipped" }],
      ms: 1,
    });
    assert.equal(isGreen, true);
    assert.match(
      text,
      /needs root\n {4}a job: root's\n {2}needs Python 3\.11[^]*the suite python\n/,
    );
    assert.match(text, /\na suite +1 +0 +1 /);
    assert.equal(lastLine(text), "1 passed, 0 failed");
  });

  it("of nothing is a failure, unless nothing has changed or something is missing", () => {
    const nothing = { done: [], unchanged: [], left: [], ms: 1 };
    assert.deepEqual(lastLine(reportOf(nothing).text), "0 passed, 1 failed");
    assert.equal(reportOf(nothing).isGreen, false);
    const unchanged = reportOf({ ...nothing, unchanged: [job({})] });
    assert.match(unchanged.text, /nothing has changed since they passed here: a suite\n/);
    assert.deepEqual([lastLine(unchanged.text), unchanged.isGreen], ["0 passed, 0 failed", true]);
    const left = [{ suite: "b", reason: "needs b", outcome: /** @type {const} */ ("skipped") }];
    assert.equal(reportOf({ ...nothing, left }).isGreen, true);
    assert.equal(reportOf({ ...nothing, done: [done({ tests: [] })] }).isGreen, false);
    // Where tests were chosen, most programs have none of them.
    const empty = done({ tests: [], mayBeEmpty: true });
    assert.equal(reportOf({ ...nothing, done: [empty] }).isGreen, false);
    assert.equal(reportOf({ ...nothing, done: [empty, done({})] }).isGreen, true);
  });

  it("of several rounds says which test failed how often", () => {
    const failing = done({ tests: [PASSED, FAILED] });
    assert.equal(
      tallyOf([[done({})], [failing], [failing]]),
      "failed, in 3 rounds:\n   2 ×  a job: another",
    );
    assert.equal(tallyOf([[done({})]]), "No test failed in 1 rounds.");
  });

  it("says of a file that takes too long by itself that it does", () => {
    const slow = done({ name: "tests/slow.test.mjs", ms: 600_000, hasBudget: true });
    const built = done({ name: "a build", ms: 600_000 });
    assert.deepEqual(suspects([slow, built, done({ hasBudget: true })]), [slow]);
    const late = reportOf({ done: [budgetCheck(slow)], unchanged: [], left: [], ms: 1 });
    assert.match(late.text, /tests\/slow\.test\.mjs takes at most 20\.0 s\nIt took 600\.0 s/);
    assert.equal(lastLine(late.text), "0 passed, 1 failed");
    const check = budgetCheck({ ...slow, ms: 5_000, tests: [FAILED] });
    assert.deepEqual(
      check.tests.map(({ outcome }) => outcome),
      ["failed", "passed"],
    );
  });
});

describe("what a suite needs", () => {
  const missing = { name: "qemu", prepare: () => Promise.reject(new Error("it is not\nthere")) };
  let times = 0;
  const there = { name: "sh", prepare: async () => void (times += 1) };
  const suites = [
    { name: "a", needs: [there] },
    { name: "b", needs: [there, missing] },
    { name: "c", needs: [missing] },
  ];

  it("is prepared once; a suite that lacks something is skipped, and the rest runs", async () => {
    const { ready, left } = await prepareNeeds(suites, { isComplete: false });
    assert.deepEqual(
      ready.map(({ name }) => name),
      ["a"],
    );
    const reason = "needs qemu: it is not there";
    assert.deepEqual(left, [
      { suite: "b", reason, outcome: "skipped" },
      { suite: "c", reason, outcome: "skipped" },
    ]);
    assert.equal(times, 1);
  });

  it("is a failure where everything is to run", async () => {
    const { left } = await prepareNeeds(suites, { isComplete: true });
    assert.deepEqual(
      left.map(({ outcome }) => outcome),
      ["failed", "failed"],
    );
  });
});
