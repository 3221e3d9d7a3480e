// @ts-check
import { mkdirSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { run } from "../child-process.mjs";
import { root, target } from "../project.mjs";

/** Longer than any test file should take on a busy machine: what hangs fails. */
const TEST_TIMEOUT_MS = 300_000;

/**
 * The files *.test.mjs below a folder of tests/, with Node's own test runner.
 *
 * @param {string} folder
 * @param {{ timeoutMs?: number, concurrency?: number }} [options] `timeoutMs`: of a file; `concurrency`: how many
 * files at a time. By default two, even where there are two cores: most tests wait most of the time.
 */
export async function nodeTests(folder, { timeoutMs = TEST_TIMEOUT_MS, concurrency = 2 } = {}) {
  const files = readdirSync(join(root, "tests", folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.mjs") && !name.includes("node_modules"))
    .sort()
    .map((name) => join("tests", folder, name));
  const result = join(target, "test-results", `${folder}.json`);
  mkdirSync(join(result, ".."), { recursive: true });
  rmSync(result, { force: true });
  const { exitCode } = await run(process.execPath, [
    ...["--test", `--test-timeout=${timeoutMs}`, `--test-concurrency=${concurrency}`],
    ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...["--test-reporter=./scripts/suites/counts.mjs", `--test-reporter-destination=${result}`],
    // Node.js 20 has WebSockets when asked.
    "--experimental-websocket",
    ...files,
  ]);
  /** @type {import("../test.mjs").Counts} */
  const counts = JSON.parse(readFileSync(result, "utf8"));
  // What fails beside the tests fails, too.
  if (exitCode !== 0 && counts.failed === 0) counts.failed = 1;
  return counts;
}
