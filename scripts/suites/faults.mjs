// @ts-check
import { nodeTests } from "./node.mjs";

/** A soak's: it has hundreds of runs over 20 MB in one test. */
const SOAK_TIMEOUT_MS = 3_600_000;

/** Commands through a proxy that breaks what it can. `SEED=…` repeats one run of theirs. */
export async function faultTests() {
  // Two files at a time: one of them mostly waits.
  return nodeTests("faults", { flags: ["--test-concurrency=2"] });
}

/** The same, more and larger. */
export async function soak() {
  process.env["SOAK"] = "1";
  return nodeTests("faults", { timeoutMs: SOAK_TIMEOUT_MS, flags: ["--test-concurrency=2"] });
}
