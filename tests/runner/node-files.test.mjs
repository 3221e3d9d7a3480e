// @ts-check
// What a file of tests is found to have done, by a real run of it.
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { runFile } from "../../scripts/suites/node.mjs";
import { temporaryFolder } from "../support/installed-package.mjs";
import { processesThat, statOf, until } from "../support/processes.mjs";

const folder = await temporaryFolder();
after(() => rmSync(folder, { recursive: true }));

let files = 0;
/** @param {string} text @param {number} [silenceMs] */
async function runText(text, silenceMs) {
  const file = join(folder, `written ${(files += 1)}.test.mjs`);
  writeFileSync(file, `import { describe, it, test } from "node:test";\n${text}`);
  return runFile(file, silenceMs);
}

describe("a file of tests", () => {
  it("tells what passed, failed and was skipped, with the names of what is around it", async () => {
    const { tests, failure } = await runText(`
      describe("outer", () => {
        describe("inner", () => { it("passes", () => {}); });
        it("fails", () => { console.error("said by a program"); throw new Error("a reason"); });
        it("can't run", { skip: "needs root" }, () => {});
      });
      describe("another", { skip: "needs bubblewrap" }, () => { it("is not told", () => {}); });
      test("alone", { todo: true }, () => {});`);
    assert.equal(failure, undefined);
    assert.deepEqual(
      tests.map(({ name, outcome }) => `${outcome}: ${name}`),
      [
        "passed: outer › inner › passes",
        "failed: outer › fails",
        "skipped: outer › can't run",
        "skipped: another",
        "skipped: alone",
      ],
    );
    assert.match(tests[1]?.reason ?? "", /^Error: a reason\n[^]*said by a program$/);
    assert.deepEqual([tests[2]?.reason, tests[3]?.reason], ["needs root", "needs bubblewrap"]);
  });

  it("that hangs is ended with all that it started, and the test and its processes are named", async () => {
    const { tests, failure = "" } = await runText(
      `import { spawn } from "node:child_process";
      it("is over", () => {});
      describe("outer", () => {
        it("waits for a child", () => new Promise(() => {
          console.error("started", spawn("sleep", ["4711"]).pid);
        }));
      });`,
      // Node.js alone may take seconds to start on a loaded machine.
      10_000,
    );
    assert.deepEqual(
      tests.map(({ name }) => name),
      ["is over"],
    );
    assert.match(failure, /^It hung in: outer › waits for a child\n/);
    assert.match(failure, /\bsleep 4711\n/);
    const child = /started (\d+)/.exec(failure)?.[1];
    // Nobody may have waited for it yet.
    await until(() => processesThat((pid) => pid === child && statOf(pid)[0] !== "Z").length === 0);
  });

  it("that can't be loaded, or ends before its tests do, has failed", async () => {
    const broken = await runText("throw new Error('at the beginning');");
    assert.match(broken.failure ?? "", /^It ended with 1\.\n[^]*at the beginning/);
    const ended = await runText("it('ends', () => process.exit(7));");
    assert.match(ended.failure ?? "", /^It ended with 7\.$/m);
  });
});
