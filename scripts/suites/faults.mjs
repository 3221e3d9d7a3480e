// @ts-check
import { nodeTests } from "./node.mjs";

/** Commands through a proxy that breaks what it can. `SEED=…` repeats one run of theirs. */
export async function faultTests() {
  // Two files at a time: one of them mostly waits. Node.js 20 has WebSockets when asked.
  return nodeTests("faults", { flags: ["--test-concurrency=2", "--experimental-websocket"] });
}
