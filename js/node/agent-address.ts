// What an agent that is started says first: where it listens.
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";

import { AgentError } from "../core/errors.js";
import type { PolicySummary } from "../policy-summary.js";
import { followLog, type OnLog } from "./agent-log.js";
import type { EarlyEnd, StartFailure } from "./agent-program.js";
import { signalGroup } from "./process.js";

/** How long an agent may take until it says where it listens, in milliseconds. It takes one second for 50,000 execs. */
const START_TIMEOUT = 60_000;
/** How much is kept of what a program says before it listens: of stdout in bytes, of stderr in UTF-16 code units. */
const MAX_SAID = 65_536;

/** What an agent says when it is ready. */
export interface AgentAddress {
  /** Its address. */
  url: string;
  /** The file with its token, if there is one. */
  adminTokenFile?: string;
  /** The policy of its commands. Left out of an agent in a container, which isolates them, and by other programs. */
  policy?: PolicySummary;
}

/** An agent that has said where it listens. */
export interface ReadyAgent {
  address: AgentAddress;
  /** What came on stderr until then. */
  stderr: string;
}

/** Says why a program that was started is no agent that listens. */
export interface StartExplanations {
  /** It could not be started. */
  failed(cause: unknown): AgentError;
  earlyEnd(end: EarlyEnd): StartFailure;
  /** Its first line is no address. */
  wrongLine(line: string): StartFailure;
  /** It said nothing for so many milliseconds, but this on stderr. */
  silence(waited: number, stderr: string): StartFailure;
}

/**
 * Reads the line that says where the agent listens. What comes after it on stdout stays to be read.
 *
 * @param ended Resolves when the process is gone.
 * @param onLog Gets what comes on stderr from then on.
 * @throws {AgentError} It does not listen.
 */
export async function waitForAddress(
  child: ChildProcessWithoutNullStreams,
  ended: Promise<void>,
  explain: StartExplanations,
  onLog: OnLog,
): Promise<ReadyAgent> {
  const failure = once(child, "error").then(([error]: unknown[]) => explain.failed(error));
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
        return agentError(explain.earlyEnd({ exitCode, signal, stderr }));
      }),
      passed(START_TIMEOUT, timeout.signal).then(() =>
        agentError(explain.silence(START_TIMEOUT, stderr)),
      ),
    ]);
    if (line instanceof AgentError) throw line;
    const address = readAddress(line);
    if (address === undefined) throw agentError(explain.wrongLine(line));
    child.off("exit", endGroup);
    followLog(child.stderr.off("data", collect), onLog);
    return { address, stderr };
  } catch (error) {
    // Else it would not close.
    child.stdout.resume();
    throw error;
  } finally {
    timeout.abort();
  }
}

/** The error of a failure to start, with its cause where the system gave one. */
export function agentError(
  { reason, hint }: StartFailure,
  details?: { cause: unknown },
): AgentError {
  const message = hint === undefined ? reason : `${reason}. ${hint}`;
  return new AgentError(message, { hint, ...details });
}

/** The first line that comes, without its end. What comes after it stays to be read. */
function firstLine(stream: Readable): Promise<string> {
  return new Promise((resolve) => {
    let said = Buffer.alloc(0);
    const read = (bytes: Buffer): void => {
      said = Buffer.concat([said, bytes]);
      const end = said.indexOf("\n");
      if (end < 0 && said.length < MAX_SAID) return;
      stream.off("data", read).pause();
      if (end >= 0) stream.unshift(said.subarray(end + 1));
      resolve(said.toString("utf8", 0, end < 0 ? MAX_SAID : end).replace(/\r$/, ""));
    };
    stream.on("data", read);
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
