// @ts-check
import { nodeTests } from "./node.mjs";

/** Commands through a proxy that breaks what it can. `SEED=…` repeats one run of theirs. */
export async function faultTests() {
  // Two files at a time: one of them mostly waits.
  return nodeTests("faults", { flags: ["--test-concurrency=2"] });
}
