import { readFile } from "node:fs/promises";

import { runAgent, type AgentAddress } from "../../node/agent-process.js";
import { aborted } from "../ending/aborted.js";
import {
  Ending,
  INTERRUPTED,
  type Outcome,
  OWN_FAILURE,
  type StandardOutput,
} from "../ending/ending.js";
import { withProgress } from "../screen/progress.js";

/**
 * Runs an agent in the foreground: a signal stops it with all that it runs, a second one kills that.
 *
 * @param args Flags for `sandpipe-agent`.
 * @param announce Called when it listens.
 */
export async function serveAgent(
  args: readonly string[],
  announce: (address: AgentAddress, output: StandardOutput) => Promise<void>,
): Promise<Outcome> {
  const ending = new Ending();
  ending.listenToSignals();
  const starting = runAgent(args);
  const started = await Promise.race([
    withProgress("starting", starting, ending.decided),
    aborted(ending.forced),
  ]);
  // It ends with this process.
  if (started === undefined) return { exitCode: INTERRUPTED };
  const { address, child, ended } = started;
  const told = aborted(ending.decided);
  try {
    await Promise.race([announce(address, ending.output), told]);
    await Promise.race([ended, told]);
  } finally {
    const stopping = stop();
    await withProgress("stopping what it runs", stopping, ending.forced);
  }
  const { exitCode } = child;
  if (exitCode === 0) return ending.unwritable ? await ending.wait() : { exitCode };
  return { exitCode: exitCode ?? OWN_FAILURE, message: "the agent did not end as it should." };

  async function stop(): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    // The agent takes a second one for "now".
    void aborted(ending.forced).then(() => child.kill("SIGTERM"));
    await ended;
  }
}

/** The token of an agent, for who may read it. */
export async function tokenOf({ adminTokenFile }: AgentAddress): Promise<string | undefined> {
  if (adminTokenFile === undefined) return process.env["SANDPIPE_ADMIN_TOKEN"];
  return (await readFile(adminTokenFile, "utf8")).trim();
}
