// @ts-check
// The tools over SSH.
import { sshRuntime } from "sandpipe/node";

import { startSshd } from "../support/sshd.mjs";
import { testTools } from "./suite.mjs";

testTools("a machine over SSH", async () => {
  const server = await startSshd();
  const runtime = sshRuntime(server.options);
  const close = async () => {
    await runtime.close();
    await server.stop();
  };
  return { runtime, close };
});
