// @ts-check
// Background processes over a sandbox.
import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { testBackground } from "./suite.mjs";

testBackground("a sandbox", () => sandbox([]));
testBackground("a sandbox without extensions", () => sandbox(["--without", "all"]));

/** @param {string[]} args */
async function sandbox(args) {
  const agent = await startAgent({ args });
  const runtime = await connect(agent);
  return { runtime, close: () => agent.stop() };
}
