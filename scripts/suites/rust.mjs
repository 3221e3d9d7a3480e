// @ts-check
/** What Rust's test programs say of their tests: in JSON, or in words where something else runs them. */

/** @import { TestResult } from "./job.mjs" */

/** Beside them: another test may be written into the same line. */
const SKIPPED = /^skipped: (?<reason>.*)$/m;

/**
 * The results of `--format=json --report-time --show-output`.
 *
 * @param {string} text
 * @returns {{ tests: TestResult[], unended: string[], isComplete: boolean }} `unended`: the tests that have begun alone
 */
export function readRustEvents(text) {
  /** @type {TestResult[]} */
  const tests = [];
  const unended = new Set();
  let isComplete = false;
  for (const line of text.split("\n")) {
    if (!line.startsWith("{")) continue;
    const { type, event, name, stdout = "", exec_time: seconds = 0 } = JSON.parse(line);
    if (type === "suite" && event !== "started") isComplete = true;
    if (type !== "test") continue;
    if (event === "started") {
      unended.add(name);
      continue;
    }
    unended.delete(name);
    const test = { name, ms: seconds * 1000 };
    const skip = SKIPPED.exec(stdout)?.groups?.["reason"];
    if (event === "failed") tests.push({ ...test, outcome: "failed", reason: stdout.trim() });
    else if (event === "ignored") tests.push({ ...test, outcome: "skipped", reason: "ignored" });
    // A test that finds that it can't run here says so, and counts for Rust as one that has passed.
    else if (skip !== undefined) tests.push({ ...test, outcome: "skipped", reason: skip });
    else if (event === "ok") tests.push({ ...test, outcome: "passed" });
  }
  return { tests, unended: [...unended], isComplete };
}

/**
 * The results in words: of documentation, and of wasm-pack.
 *
 * @param {string} text
 * @returns {TestResult[]}
 */
export function readRustText(text) {
  const said = new Map(
    [
      ...text.matchAll(
        /^---- (?<name>.+?)(?: stdout| output)? ----\n(?<said>[^]*?)(?=^---- |^failures:$)/gm,
      ),
    ].map(({ groups = {} }) => [groups["name"], groups["said"]?.trim()]),
  );
  const results = text.matchAll(
    /^test (?<name>.+?) \.\.\. (?:.*\b)?(?<result>ok|FAIL|FAILED|ignored)\b/gm,
  );
  return [...results].map(({ groups = {} }) => {
    const { name = "", result } = groups;
    const test = { name, ms: 0 };
    if (result === "ok") return { ...test, outcome: "passed" };
    if (result === "ignored") return { ...test, outcome: "skipped", reason: "ignored" };
    return { ...test, outcome: "failed", reason: said.get(name) ?? "" };
  });
}
