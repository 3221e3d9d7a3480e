// @ts-check
// The tools over each kind of runtime.
import { connect } from "sandpipe";
import { localRuntime, sshRuntime, startAgent } from "sandpipe/node";

import { startSshd } from "../sshd.mjs";
import { testTools } from "./suite.mjs";

testTools("a sandbox", async () => {
  const agent = await startAgent();
  return { runtime: await connect(agent), close: () => agent.stop() };
});

testTools("this machine", async () => {
  return { runtime: localRuntime(), close: () => undefined };
});

testTools("a machine over SSH", async () => {
  const server = await startSshd();
  const runtime = sshRuntime(server.options);
  const close = async () => {
    await runtime.close();
    await server.stop();
  };
  return { runtime, close };
});
