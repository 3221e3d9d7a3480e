import {
  spawn,
  spawnSync,
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
} from "node:child_process";
import { once } from "node:events";

import type { AgentError } from "../core/errors.js";
import {
  type AgentAddress,
  agentError,
  type StartExplanations,
  waitForAddress,
} from "./agent-address.js";
import type { OnLog } from "./agent-log.js";
import {
  type AgentCandidates,
  type AgentProgram,
  chooseAgent,
  explainEarlyEnd,
  explainSilence,
  explainStartFailure,
  explainWrongLine,
} from "./agent-program.js";
import { findAgents } from "./find-agent.js";
import { programFile } from "./find-program.js";
import { executable } from "./opened-program.js";
import { signalGroup } from "./process.js";

/** How long a program that does not listen has to end after SIGTERM, in milliseconds: it runs no commands. */
const KILL_AFTER = 2_000;

/** A signal that stops an agent. */
export type StopSignal = "SIGTERM" | "SIGINT";

/** A `sandpipe-agent` that is a child of this process, and ends with it, however that ends. */
export interface AgentProcess {
  child: ChildProcess;
  /** Asks it to stop: the first signal gracefully, a second one at once. */
  signal(signal: StopSignal): void;
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
 * @param onLog Gets its log, from when it listens on.
 * @throws {AgentError} The system refuses to start it.
 */
export function spawnAgent(
  args: readonly string[],
  onLog: OnLog,
  env: NodeJS.ProcessEnv = process.env,
): AgentProcess {
  const candidates = findAgents();
  const program = chooseAgent(candidates);
  const failed = (cause: unknown): AgentError => notStarted(program, candidates, cause);
  const child = start(program, args, env, failed);
  const ended = waitForEnd(child);
  const { platform } = candidates;
  const explain: StartExplanations = {
    failed,
    earlyEnd: (end) => {
      const stderr = named(end.stderr, program);
      return explainEarlyEnd(program, platform, { ...end, stderr });
    },
    wrongLine: (line) => explainWrongLine(program, platform, line),
    silence: (waited, stderr) => explainSilence(program, platform, waited, stderr),
  };
  const ready = waitForAddress(child, ended, explain, onLog);
  const listening = ready.then(({ address }) => {
    // It says nothing more there.
    child.stdout.resume();
    return address;
  });
  return { child, signal: (signal) => void child.kill(signal), listening, ended };
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
  const failed = (cause: unknown): AgentError => notStarted(program, candidates, cause);
  const file = fileOf(program, failed);
  const { path, descriptors } = executable(file);
  const { status, error } = spawnSync(path, args, {
    argv0: file,
    stdio: ["ignore", "inherit", "inherit", ...descriptors],
  });
  if (error !== undefined) throw failed(error);
  return status;
}

/** The file to execute. */
function fileOf({ file }: AgentProgram, failed: (cause: unknown) => AgentError): string {
  try {
    return programFile(file);
  } catch (error) {
    throw failed(error);
  }
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
  program: AgentProgram,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  failed: (cause: unknown) => AgentError,
): ChildProcessWithoutNullStreams {
  const file = fileOf(program, failed);
  const { path, descriptors } = executable(file);
  try {
    // Its stdin ends when this process does, also when it is killed.
    return spawn(path, ["--until-stdin-closes", ...args], {
      argv0: file,
      // A group of its own: Ctrl+C in a terminal is for this process to act upon, not for both.
      detached: true,
      env,
      stdio: ["pipe", "pipe", "pipe", ...descriptors],
    }) as ChildProcessWithoutNullStreams;
  } catch (error) {
    throw failed(error);
  }
}

/** Resolves when the process is gone, also where it never came to be. */
export async function waitForEnd(child: ChildProcess): Promise<void> {
  await once(child, "close").catch(() => undefined);
}

function notStarted(
  program: AgentProgram,
  candidates: AgentCandidates,
  cause: unknown,
): AgentError {
  const error: NodeJS.ErrnoException = cause instanceof Error ? cause : new Error(String(cause));
  const message = named(error.message, program);
  const { code } = error;
  const told = code === undefined ? { message } : { code, message };
  return agentError(explainStartFailure(program, candidates, told), { cause });
}

/** A text in which a program has its own path, by which its reader knows it. */
function named(text: string, { file }: AgentProgram): string {
  return text.replaceAll(executable(file).path, file);
}
