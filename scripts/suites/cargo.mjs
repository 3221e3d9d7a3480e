// @ts-check
import { run } from "../child-process.mjs";

/** The native tests of the core, the protocol and the agent. */
export async function cargoTests() {
  return cargoTest(["--no-fail-fast"]);
}

/**
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} [env] instead of this process's
 */
export async function cargoTest(args, env = process.env) {
  const { exitCode, output } = await run("cargo", ["test", ...args], { env, keepOutput: true });

  const counts = { passed: 0, failed: 0, skipped: 0 };
  const summaries = output.matchAll(
    /^test result: \w+\. (?<passed>\d+) passed; (?<failed>\d+) failed; (?<ignored>\d+) ignored/gm,
  );
  for (const { groups = {} } of summaries) {
    counts.passed += Number(groups["passed"]);
    counts.failed += Number(groups["failed"]);
    counts.skipped += Number(groups["ignored"]);
  }
  // A test program that doesn't compile or dies says nothing of its tests.
  if (exitCode !== 0 && counts.failed === 0) counts.failed = 1;
  return counts;
}
