import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { AgentError } from "../errors.js";

/** What an agent says when it is ready. */
export interface AgentAddress {
  /** Its address. */
  url: string;
  /** The file with its token, if there is one. */
  adminTokenFile?: string;
}

/** A `sandpipe-agent` that is a child of this process, and ends with it, however that ends. */
export interface AgentProcess {
  child: ChildProcess;
  /** Resolves when it listens; rejects with an {@link AgentError} if there is no such program, or it ends before. */
  listening: Promise<AgentAddress>;
  /** Resolves when it is gone. */
  ended: Promise<void>;
}

/**
 * Starts `sandpipe-agent`: the program that `SANDPIPE_AGENT` names, else the one built in the package's
 * workspace, else the one in `PATH`.
 */
export function spawnAgent(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): AgentProcess {
  const program = findProgram();
  // Its stdin ends when this process does, also when it is killed.
  const child = spawn(program, ["--until-stdin-closes", ...args], {
    // A group of its own: Ctrl+C in a terminal is for this process to act upon, not for both.
    detached: true,
    env,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended = waitForEnd(child);
  return { child, listening: waitForAddress(child, program, ended), ended };
}

function findProgram(): string {
  const named = process.env["SANDPIPE_AGENT"];
  if (named !== undefined && named !== "") return named;
  const built = fileURLToPath(new URL("../../target/release/sandpipe-agent", import.meta.url));
  // In a checkout of the project, the agent that was built there.
  const isCheckout = existsSync(new URL("../../crates/agent/Cargo.toml", import.meta.url));
  return isCheckout && existsSync(built) ? built : "sandpipe-agent";
}

/** Resolves when the process is gone, also where it never came to be. */
async function waitForEnd(child: ChildProcess): Promise<void> {
  await once(child, "close").catch(() => undefined);
}

/** Reads the line that says where the agent listens. What it says later on stderr goes to this one's. */
async function waitForAddress(
  child: ChildProcess & { stdout: NodeJS.ReadableStream; stderr: NodeJS.ReadableStream },
  program: string,
  ended: Promise<void>,
): Promise<AgentAddress> {
  let said = "";
  const listen = (text: string): void => {
    said += text;
  };
  child.stderr.setEncoding("utf8").on("data", listen);
  const failure = once(child, "error").then(([error]: unknown[]) => notStarted(program, error));
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([
    once(lines, "line").then(([line]: unknown[]) => String(line)),
    failure,
    ended.then(() => new AgentError(`${program} ended before it listened: ${said.trim()}`)),
  ]);
  lines.close();
  if (line instanceof AgentError) throw line;
  child.stderr.off("data", listen).pipe(process.stderr, { end: false });
  return readAddress(line, program);
}

function readAddress(line: string, program: string): AgentAddress {
  try {
    return JSON.parse(line) as AgentAddress;
  } catch (cause) {
    throw new AgentError(`${program} did not say where it listens, but: ${line}`, { cause });
  }
}

function notStarted(program: string, cause: unknown): AgentError {
  const hint =
    "Build it with `cargo build --release -p sandpipe-agent`, put it in PATH, or name it in SANDPIPE_AGENT.";
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AgentError(`${program} could not be run: ${reason}. ${hint}`, { hint, cause });
}
