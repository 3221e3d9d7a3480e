// @ts-check
import { run } from "../child-process.mjs";

/** The native tests of the core, the protocol and the agent. */
export async function cargoTests() {
  return countRustTests("cargo", ["test", "--locked", "--no-fail-fast"]);
}

/**
 * Runs a program that runs Rust's test programs, and counts their tests: only the lines that they end with say how
 * many there were.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} [env] instead of this process's
 */
export async function countRustTests(command, args, env = process.env) {
  const { exitCode, output } = await run(command, args, { env, keepOutput: true });

  const counts = { passed: 0, failed: 0, skipped: 0, failures: failures(output) };
  const summaries = output.matchAll(
    /^test result: \w+\. (?<passed>\d+) passed; (?<failed>\d+) failed; (?<ignored>\d+) ignored/gm,
  );
  for (const { groups = {} } of summaries) {
    counts.passed += Number(groups["passed"]);
    counts.failed += Number(groups["failed"]);
    counts.skipped += Number(groups["ignored"]);
  }
  // A test that finds that it can't run here says so, and counts for Rust as one that has passed.
  const unable = output.match(/^skipped: /gm)?.length ?? 0;
  counts.passed -= unable;
  counts.skipped += unable;
  // A test program that doesn't compile or dies says nothing of its tests.
  if (exitCode !== 0 && counts.failed === 0) counts.failed = 1;
  return counts;
}

/** @param {string} output of Rust's test programs, which end with what each test that failed has said */
function failures(output) {
  const sections = output.matchAll(
    /^---- (?<test>.+) stdout ----\n(?<said>[^]*?)(?=^---- |^failures:$)/gm,
  );
  return [...sections].map(({ groups = {} }) => `${groups["test"]}\n${groups["said"]?.trim()}`);
}
