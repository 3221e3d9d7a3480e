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
  /** `byUser`: it was this page that told it to. */
  | { kind: "stopped"; code: number; byUser: boolean; forced: boolean }
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
  if (item.status === "STOPPED") {
    const byUser = stopping !== undefined && stopping.phase !== "failed";
    const forced = stopping?.phase === "stopped" && stopping.forced;
    return { kind: "stopped", code: item.exitCode, byUser, forced };
  }
  return item.exitCode === 0 ? { kind: "succeeded" } : { kind: "failed", code: item.exitCode };
}

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

function stoppedText({ code, byUser, forced }: RunState & { kind: "stopped" }): string {
  const signal = signalName(code);
  const how = signal ?? `exit code ${code}`;
  if (!byUser) return how;
  return forced ? `by you, by force: ${how}` : `by you: ${how}`;
}
