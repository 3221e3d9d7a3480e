import type { ExecItem } from "sandpipe";
import { signalName } from "./signals.js";
import { hasEnded } from "./status.js";
import type { Stopping } from "./stopping.js";

/** What has become of a run, as far as it is known. */
export type RunState =
  | { kind: "waiting" }
  | { kind: "running" }
  /** `killAt`: when it is killed, in milliseconds, if this page knows. */
  | { kind: "stopping"; killAt?: number; killing: boolean }
  | { kind: "succeeded" }
  | { kind: "failed"; code: number }
  /** `by`: what stopped it, in words; undefined where nobody knows. */
  | { kind: "stopped"; code: number; by?: string; forced: boolean }
  /** It is over, and nobody knows its exit code. */
  | { kind: "lost" }
  /** It ran when the agent was last heard of. */
  | { kind: "unknown" };

export type StateKind = RunState["kind"];

/**
 * The state of a run.
 *
 * @param isLive Whether the agent is heard of: what it last said to run may have ended since.
 */
export function stateOf(item: ExecItem, isLive: boolean, stopping?: Stopping): RunState {
  if (!hasEnded(item)) {
    if (item.status === "CREATED") return { kind: "waiting" };
    if (!isLive) return { kind: "unknown" };
    if (stopping?.phase === "terminating" || stopping?.phase === "killing") {
      return {
        kind: "stopping",
        killing: stopping.phase === "killing",
        ...(stopping.phase === "terminating" ? { killAt: stopping.killAt } : {}),
      };
    }
    return item.status === "STOPPING" ? { kind: "stopping", killing: false } : { kind: "running" };
  }
  if (item.exitCode < 0) return { kind: "lost" };
  // A limit that the kernel holds ends a command without anybody's telling it to.
  if (item.status === "STOPPED" || item.stopReason !== undefined) {
    const forced = stopping?.phase === "stopped" && stopping.forced;
    const by = stopper(item, stopping);
    return { kind: "stopped", code: item.exitCode, forced, ...(by === undefined ? {} : { by }) };
  }
  return item.exitCode === 0 ? { kind: "succeeded" } : { kind: "failed", code: item.exitCode };
}

/** What stopped a run, in words. */
function stopper({ stopReason }: ExecItem, stopping: Stopping | undefined): string | undefined {
  const isOurs = stopping !== undefined && stopping.phase !== "failed";
  if (isOurs && (stopReason === undefined || stopReason === "client")) return "you";
  return stopReason === undefined ? undefined : (STOPPERS[stopReason] ?? stopReason);
}

const STOPPERS: Readonly<Partial<Record<string, string>>> = {
  client: "a user",
  agent: "the agent’s end",
  wallTime: "the time limit",
  output: "the output limit",
  cpuTime: "the processor time limit",
  fileSize: "the file size limit",
  memory: "the memory limit",
};

/** The word for a state; with the exit code where it says more. */
export function wordOf(state: RunState): string {
  switch (state.kind) {
    case "waiting":
      return "Not started";
    case "running":
      return "Running";
    case "stopping":
      return state.killing ? "Killing" : "Stopping";
    case "succeeded":
      return "Succeeded";
    case "failed":
      return `Failed ${state.code}`;
    case "stopped":
      return "Stopped";
    case "lost":
      return "Lost";
    case "unknown":
      return "Unknown";
  }
}

/** What more there is to say of a state; empty where the word says it all. */
export function detailOf(state: RunState, now: number): string {
  switch (state.kind) {
    case "stopping":
      if (state.killing) return "SIGKILL was sent";
      return state.killAt === undefined
        ? "told to end"
        : `killed in ${Math.max(0, Math.ceil((state.killAt - now) / 1000))} s`;
    case "failed":
      return signalName(state.code) ?? "";
    case "stopped":
      return stoppedText(state);
    case "lost":
      return "the agent ended while it ran; its exit code is not known";
    case "unknown":
      return "it ran when the connection was lost";
    default:
      return "";
  }
}

function stoppedText({ code, by, forced }: RunState & { kind: "stopped" }): string {
  const how = signalName(code) ?? `exit code ${code}`;
  if (by === undefined) return how;
  return forced ? `by ${by}, by force: ${how}` : `by ${by}: ${how}`;
}
