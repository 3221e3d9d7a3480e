// @ts-check
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { run } from "../child-process.mjs";
import { root } from "../project.mjs";

/** Longer than any test should take: what hangs fails. */
const TEST_TIMEOUT_MS = 180_000;

/**
 * The files *.test.mjs below a folder of tests/, with Node's own test runner.
 *
 * @param {string} folder
 * @param {{ timeoutMs?: number, flags?: readonly string[] }} [options] `timeoutMs`: of a test;
 * `flags`: more of the runner's own
 */
export async function nodeTests(folder, { timeoutMs = TEST_TIMEOUT_MS, flags = [] } = {}) {
  const files = readdirSync(join(root, "tests", folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.mjs") && !name.includes("node_modules"))
    .sort()
    .map((name) => join("tests", folder, name));
  if (files.length === 0) return { passed: 0, failed: 0, skipped: 0 };

  const runner = ["--test", "--test-reporter=spec", `--test-timeout=${timeoutMs}`];
  const args = [...runner, ...flags, ...files];
  const { exitCode, output } = await run(process.execPath, args, { keepOutput: true });

  const count = (/** @type {string} */ kind) =>
    Number(new RegExp(`^ℹ ${kind} (\\d+)$`, "m").exec(output)?.[1] ?? 0);
  const failed = count("fail") + count("cancelled");
  return {
    passed: count("pass"),
    // A runner that dies says nothing of its tests.
    failed: exitCode !== 0 && failed === 0 ? 1 : failed,
    skipped: count("skipped") + count("todo"),
  };
}
