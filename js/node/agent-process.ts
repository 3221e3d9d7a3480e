import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

import { AgentError } from "../errors.js";
import {
  type AgentCandidates,
  type AgentProgram,
  chooseAgent,
  explainEarlyEnd,
  explainStartFailure,
  explainWrongLine,
  type StartFailure,
} from "./agent-program.js";
import { findAgents } from "./find-agent.js";

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
 * Starts `sandpipe-agent`: the program that `SANDPIPE_AGENT` names, else the one in this platform's package, else
 * the one in `PATH`.
 *
 * @throws {AgentError} The system refuses to start it.
 */
export function spawnAgent(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): AgentProcess {
  const candidates = findAgents();
  const program = chooseAgent(candidates);
  const failed = (cause: unknown): AgentError => notStarted(program, candidates, cause);
  const child = start(program, args, env, failed);
  const ended = waitForEnd(child);
  const listening = waitForAddress(child, program, candidates.platform, ended, failed);
  return { child, listening, ended };
}

/** Some of the system's errors are thrown, others come as an event. */
function start(
  { file }: AgentProgram,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  failed: (cause: unknown) => AgentError,
): ChildProcessWithoutNullStreams {
  try {
    // Its stdin ends when this process does, also when it is killed.
    return spawn(file, ["--until-stdin-closes", ...args], {
      // A group of its own: Ctrl+C in a terminal is for this process to act upon, not for both.
      detached: true,
      env,
      stdio: ["pipe", "pipe", "pipe"],
    });
  } catch (error) {
    throw failed(error);
  }
}

/** Resolves when the process is gone, also where it never came to be. */
async function waitForEnd(child: ChildProcess): Promise<void> {
  await once(child, "close").catch(() => undefined);
}

/** Reads the line that says where the agent listens. What it says later on stderr goes to this one's. */
async function waitForAddress(
  child: ChildProcessWithoutNullStreams,
  program: AgentProgram,
  platform: string,
  ended: Promise<void>,
  failed: (cause: unknown) => AgentError,
): Promise<AgentAddress> {
  const failure = once(child, "error").then(([error]: unknown[]) => failed(error));
  // It was not started, and may not even have pipes.
  if (child.pid === undefined) throw await failure;
  let stderr = "";
  const collect = (text: string): void => {
    stderr += text;
  };
  child.stderr.setEncoding("utf8").on("data", collect);
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([
    once(lines, "line").then(([line]: unknown[]) => String(line)),
    failure,
    ended.then(() => {
      const { exitCode, signalCode: signal } = child;
      return agentError(explainEarlyEnd(program, platform, { exitCode, signal, stderr }));
    }),
  ]);
  lines.close();
  if (line instanceof AgentError) throw line;
  const address = readAddress(line);
  if (address === undefined) throw agentError(explainWrongLine(program, platform, line));
  child.stderr.off("data", collect).pipe(process.stderr, { end: false });
  return address;
}

/** Undefined where the line is no agent's. */
function readAddress(line: string): AgentAddress | undefined {
  try {
    const said = JSON.parse(line) as Partial<AgentAddress> | null;
    return typeof said?.url === "string" ? (said as AgentAddress) : undefined;
  } catch {
    return undefined;
  }
}

function notStarted(
  program: AgentProgram,
  candidates: AgentCandidates,
  cause: unknown,
): AgentError {
  const error = cause instanceof Error ? cause : { message: String(cause) };
  return agentError(explainStartFailure(program, candidates, error), { cause });
}

function agentError({ reason, hint }: StartFailure, details?: { cause: unknown }): AgentError {
  const message = hint === undefined ? reason : `${reason}. ${hint}`;
  return new AgentError(message, { hint, ...details });
}
