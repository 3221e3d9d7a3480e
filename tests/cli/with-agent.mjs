// @ts-check
/** The program `sandpipe`, and an agent that it is used with. */

import { connect } from "sandpipe";
import { startTestAgent } from "../support/agent.mjs";
import { installSandpipe } from "../support/installed-cli.mjs";

/** Installs it, and starts an agent, which is found by the environment. */
export async function installWithAgent() {
  const sandpipe = await installSandpipe();
  const agent = await startTestAgent();
  const { execs } = await connect(agent);
  /** @type {NodeJS.ProcessEnv} */
  const env = { SANDPIPE_URL: agent.url, SANDPIPE_TOKEN: agent.token };

  /** Runs the program at the agent. @param {string[]} args */
  const run = (...args) => sandpipe.run(args, { env });

  async function remove() {
    await agent.stop();
    await sandpipe.remove();
  }

  return { sandpipe, execs, env, run, remove };
}
