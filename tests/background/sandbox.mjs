// @ts-check
import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

/** Opens a sandbox for a suite. @param {string[]} args of the agent */
export async function openSandbox(args) {
  const agent = await startAgent({ args });
  const runtime = await connect(agent);
  const close = async () => {
    runtime.close();
    await agent.stop();
  };
  return { runtime, close };
}
