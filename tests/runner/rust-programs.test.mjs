// @ts-check
// What Rust's test programs are found to have done, by a real run of one.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { root } from "../../scripts/project.mjs";
import { readRustEvents, readRustText } from "../../scripts/suites/rust.mjs";
import { temporaryFolder } from "../support/installed-package.mjs";

const SOURCE = `
#[test] fn passes() {}
#[test] fn fails() { assert_eq!(1, 2, "a reason"); }
#[test] #[ignore] fn is_ignored() {}
#[test] fn cannot_run() { println!("skipped: needs bubblewrap"); }
#[test] fn dies() { if std::env::var("DIE").is_ok() { std::process::abort() } }
`;

describe("a Rust test program", () => {
  /** @type {string} */
  let folder;
  before(async () => {
    folder = await temporaryFolder();
    writeFileSync(join(folder, "lib.rs"), SOURCE);
    const [program, source] = [join(folder, "program"), join(folder, "lib.rs")];
    // There rustc is that of the project.
    const options = { cwd: root };
    execFileSync("rustc", ["--test", "--edition=2024", "-o", program, source], options);
  });
  after(() => rmSync(folder, { recursive: true }));

  /** @param {string[]} args @param {NodeJS.ProcessEnv} [env] */
  function run(args, env = {}) {
    const own = { ...process.env, RUSTC_BOOTSTRAP: "1", ...env };
    return spawnSync(join(folder, "program"), args, { env: own, encoding: "utf8" }).stdout;
  }
  const JSON_LINES = ["-Zunstable-options", "--format=json", "--report-time", "--show-output"];

  it("tells each test's result, and why one can't run", () => {
    const { tests, unended, isComplete } = readRustEvents(run(JSON_LINES));
    const results = Object.fromEntries(tests.map(({ name, ...result }) => [name, result]));
    assert.deepEqual([unended, isComplete, tests.length], [[], true, 5]);
    assert.equal(results["passes"]?.outcome, "passed");
    assert.equal(results["fails"]?.outcome, "failed");
    assert.match(results["fails"]?.reason ?? "", /a reason/);
    for (const [name, reason] of /** @type {const} */ ([
      ["is_ignored", "ignored"],
      ["cannot_run", "needs bubblewrap"],
    ])) {
      assert.deepEqual([results[name]?.outcome, results[name]?.reason], ["skipped", reason]);
    }
  });

  it("names the test in which it died", () => {
    const args = [...JSON_LINES, "--test-threads=1", "dies"];
    const { tests, unended, isComplete } = readRustEvents(run(args, { DIE: "1" }));
    assert.deepEqual([tests, unended, isComplete], [[], ["dies"], false]);
  });

  it("is read in words where cargo or wasm-pack runs it", () => {
    const tests = readRustText(run(["--test-threads=1"]));
    assert.deepEqual(
      tests.map(({ name, outcome }) => `${outcome}: ${name}`),
      [
        "passed: cannot_run",
        "passed: dies",
        "failed: fails",
        "skipped: is_ignored",
        "passed: passes",
      ],
    );
    assert.match(tests[2]?.reason ?? "", /a reason/);
  });
});
