import {
  spawn,
  spawnSync,
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
} from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";

import { AgentError } from "../core/errors.js";
import {
  type AgentCandidates,
  type AgentProgram,
  chooseAgent,
  explainEarlyEnd,
  explainSilence,
  explainStartFailure,
  explainWrongLine,
  type StartFailure,
} from "./agent-program.js";
import { findAgents } from "./find-agent.js";
import { signalGroup } from "./process.js";

/** How long an agent may take until it says where it listens, in milliseconds. It takes one second for 50,000 execs. */
const START_TIMEOUT = 60_000;
/** How long a program that does not listen has to end after SIGTERM, in milliseconds: it runs no commands. */
const KILL_AFTER = 2_000;
/** How much is kept of what a program says before it listens, in UTF-16 code units. */
const MAX_SAID = 65_536;

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
  /**
   * Resolves when it listens; rejects with an {@link AgentError} if there is no such program, or it ends before, says
   * something else or nothing for 60 s.
   */
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

/**
 * Runs `sandpipe-agent` for what it prints, such as `--help`, with this process's stdout and stderr.
 *
 * @returns Its exit code; null where a signal ended it.
 * @throws {AgentError} There is no such program.
 */
export function printFromAgent(args: readonly string[]): number | null {
  const candidates = findAgents();
  const program = chooseAgent(candidates);
  const { status, error } = spawnSync(program.file, args, {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (error !== undefined) throw notStarted(program, candidates, error);
  return status;
}

/**
 * Ends a program that was run as the agent and does not listen, with what it has started: SIGTERM, and SIGKILL after 2 s.
 * Resolves when it is gone, or is another user's and can't be ended.
 *
 * @param force Aborted: SIGKILL at once.
 */
export async function endUnready(
  { child, ended }: AgentProcess,
  force?: AbortSignal,
): Promise<void> {
  const kill = (): void => {
    // Later the number may be another group's.
    if (isAlive(child)) signalGroup(child.pid, "SIGKILL");
    // What has left the group may hold them open.
    for (const stream of child.stdio) stream?.destroy();
  };
  if (isAlive(child)) signalGroup(child.pid, "SIGTERM");
  const timer = setTimeout(kill, KILL_AFTER);
  if (force?.aborted === true) kill();
  force?.addEventListener("abort", kill, { once: true });
  try {
    await ended;
  } finally {
    clearTimeout(timer);
    force?.removeEventListener("abort", kill);
  }
}

function isAlive(child: ChildProcess): child is ChildProcess & { pid: number } {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
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
  const { pid } = child;
  if (pid === undefined) throw await failure;
  let stderr = "";
  const collect = (text: string): void => {
    stderr = (stderr + text).slice(-MAX_SAID);
  };
  child.stderr.setEncoding("utf8").on("data", collect);
  // What it has started is no agent's either, and may hold its pipes.
  const endGroup = (): void => void signalGroup(pid, "SIGKILL");
  child.once("exit", endGroup);
  const timeout = new AbortController();
  try {
    const line = await Promise.race([
      firstLine(child.stdout),
      failure,
      ended.then(() => {
        const { exitCode, signalCode: signal } = child;
        return agentError(explainEarlyEnd(program, platform, { exitCode, signal, stderr }));
      }),
      passed(START_TIMEOUT, timeout.signal).then(() =>
        agentError(explainSilence(program, platform, START_TIMEOUT, stderr)),
      ),
    ]);
    if (line instanceof AgentError) throw line;
    const address = readAddress(line);
    if (address === undefined) throw agentError(explainWrongLine(program, platform, line));
    child.off("exit", endGroup);
    child.stderr.off("data", collect).pipe(process.stderr, { end: false });
    return address;
  } finally {
    timeout.abort();
  }
}

/** The first line that comes, without its end. */
function firstLine(stream: Readable): Promise<string> {
  return new Promise((resolve) => {
    let said = "";
    stream.setEncoding("utf8").on("data", (text: string) => {
      if (said.length >= MAX_SAID || said.includes("\n")) return;
      said += text;
      if (said.length >= MAX_SAID || said.includes("\n")) resolve(said.replace(/\r?\n[^]*/, ""));
    });
  });
}

/** Resolves after so many milliseconds, and not before what came meanwhile has been read; never once it is aborted. */
function passed(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => setImmediate(resolve), milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
    });
  });
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
