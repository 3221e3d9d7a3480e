// @ts-check
// The tools over a sandbox and over this machine.
import { connect } from "sandpipe";
import { localRuntime, startAgent } from "sandpipe/node";

import { testTools } from "./suite.mjs";

testTools(
  "a sandbox",
  async () => {
    const agent = await startAgent();
    return { runtime: await connect(agent), close: () => agent.stop() };
  },
  { part: "runtime", hasFiles: true },
);

testTools("this machine", async () => ({ runtime: localRuntime(), close: () => undefined }), {
  part: "whole",
});
