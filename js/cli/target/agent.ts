import type { Execs } from "../../execs.js";
import { connect } from "../../node.js";
import { startAgent } from "../../node/start-agent.js";
import type { Values } from "../command-line/command.js";
import { killOverdue } from "../ending/kill-overdue.js";
import { type CONNECTION, connectIfNamed } from "./connection.js";

/** The agent that runs a command. */
export interface Agent {
  execs: Execs;
  /** Whether it is this process's own, and ends with it. */
  own: boolean;
  /**
   * Ends the connection, and an agent of its own with all that it runs; that at once when `forced` is aborted.
   * Rejects where the agent is still there some time after that.
   */
  close(forced: AbortSignal): Promise<void>;
}

/** Connects to the agent that the options or the environment name, else to one that it starts. */
export async function reachAgent(values: Values<typeof CONNECTION>): Promise<Agent> {
  const sandbox = await connectIfNamed(values);
  if (sandbox === undefined) return startOwnAgent();
  return {
    execs: sandbox.execs,
    own: false,
    close: async () => {
      sandbox.close();
    },
  };
}

/**
 * How far a command may be ahead of its reader. The agent never makes it wait and drops what is
 * beyond this, which is then an error here: more than most commands write, less than most disks have.
 */
const SPOOL_LIMIT = "4GiB";

async function startOwnAgent(): Promise<Agent> {
  const agent = await startAgent({ args: ["--spool-limit", SPOOL_LIMIT] });
  const sandbox = await connect({ url: agent.url, token: agent.token });
  const end = async (forceSignal: AbortSignal): Promise<void> => {
    sandbox.close();
    const overdue = killOverdue(forceSignal).then(() => {
      throw new Error("the command's own agent has not ended: the command may still run.");
    });
    await Promise.race([agent.stop({ forceSignal }), overdue]);
  };
  let ending: Promise<void> | undefined;
  return { execs: sandbox.execs, own: true, close: (forced) => (ending ??= end(forced)) };
}
