import { readFile } from "node:fs/promises";

import {
  endUnready,
  printFromAgent,
  spawnAgent,
  type AgentAddress,
} from "../../node/agent-process.js";
import { aborted } from "../ending/aborted.js";
import { Ending, type Outcome, OWN_FAILURE, type StandardOutput } from "../ending/ending.js";
import { withProgress } from "../screen/progress.js";

/** The agent's flags with which it does something else than listen, and ends. */
const ONE_SHOT_FLAGS = new Set(["--help", "-h", "--version", "-V", "--health-check"]);

/**
 * Runs an agent in the foreground: a signal stops it with all that it runs, a second one kills that. One that
 * does not come to listen has 2 s to end.
 *
 * @param args Flags for `sandpipe-agent`.
 * @param announce Called when it listens.
 */
export async function serveAgent(
  args: readonly string[],
  announce: (address: AgentAddress, output: StandardOutput) => Promise<void>,
): Promise<Outcome> {
  if (args.some((arg) => ONE_SHOT_FLAGS.has(arg))) {
    const exitCode = printFromAgent(args);
    if (exitCode !== null) return { exitCode };
    return { exitCode: OWN_FAILURE, message: "the agent was ended by a signal." };
  }
  const ending = new Ending();
  ending.stopAtSignals();
  const agent = spawnAgent(args);
  const { child, listening, ended } = agent;
  const told = aborted(ending.decided).then(() => undefined);
  let address: AgentAddress | undefined;
  try {
    address = await Promise.race([withProgress("starting", listening, ending.decided), told]);
    if (address !== undefined) {
      await Promise.race([announce(address, ending.output), told]);
      await Promise.race([ended, told]);
    }
  } finally {
    const stopping = stop();
    await withProgress("stopping what it runs", stopping, ending.forced);
  }
  const { outcome = { exitCode: OWN_FAILURE }, signal, unwritable } = ending;
  if (address === undefined) return { ...outcome, message: "the agent did not come to listen." };
  const { exitCode } = child;
  if (exitCode === 0) {
    if (unwritable) return outcome;
    if (signal === undefined) return { exitCode };
    const message = "the agent has ended, and all that it ran.";
    // To end at another signal is what it waits for.
    return signal === "SIGINT" ? { ...outcome, message } : { exitCode, message };
  }
  return { exitCode: exitCode ?? OWN_FAILURE, message: "the agent did not end as it should." };

  async function stop(): Promise<void> {
    if (address === undefined) return endUnready(agent, ending.forced);
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    // The agent takes a second one for "now"; of two that are the same one may be lost in the other.
    void aborted(ending.forced).then(() => child.kill("SIGINT"));
    await ended;
  }
}

/** The token of an agent, for who may read it. */
export async function tokenOf({ adminTokenFile }: AgentAddress): Promise<string | undefined> {
  if (adminTokenFile === undefined) return process.env["SANDPIPE_ADMIN_TOKEN"];
  return (await readFile(adminTokenFile, "utf8")).trim();
}
