import { readFile } from "node:fs/promises";

import type { Execs } from "../execs.js";
import { connect } from "../node.js";
import { startAgent } from "../node/start-agent.js";
import type { RunOptions } from "./arguments.js";
import { UsageError } from "./usage-error.js";

/** The agent that runs the command. */
export interface Agent {
  execs: Execs;
  /** Whether it is this process's own, and ends with it. */
  own: boolean;
  /** Ends the connection, and an agent of its own with all that it runs. */
  close(): Promise<void>;
}

/** Connects to the agent that the options or the environment name, else to one that it starts. */
export async function reachAgent(options: RunOptions): Promise<Agent> {
  const url = options.url ?? setting("SANDPIPE_URL");
  if (url === undefined) {
    if (options.tokenFile === undefined) return startOwnAgent();
    throw new UsageError(
      "--token-file needs the address of its agent: give --url too, or set SANDPIPE_URL",
      "sandpipe run --help",
    );
  }
  const { tokenFile } = options;
  const token = tokenFile === undefined ? setting("SANDPIPE_TOKEN") : await readToken(tokenFile);
  const sandbox = await connect(token === undefined ? { url } : { url, token });
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
  return {
    execs: sandbox.execs,
    own: true,
    close: () => {
      sandbox.close();
      return agent.stop();
    },
  };
}

async function readToken(path: string): Promise<string> {
  let text;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the token file can't be read: ${reason}`, { cause });
  }
  const token = text.trim();
  if (token === "") throw new Error(`the token file ${path} is empty: put the agent's token in it`);
  return token;
}

/** What the environment says; empty is unset. */
function setting(name: string): string | undefined {
  const value = process.env[name];
  return value === "" ? undefined : value;
}
