import type { BackgroundProcess } from "sandpipe";
import type { RunState } from "../runs/state.js";

/** What has become of a process, in the terms of a run. */
export function stateOf({ status, exitCode }: BackgroundProcess, isLive: boolean): RunState {
  switch (status) {
    case "running":
      return isLive ? { kind: "running" } : { kind: "unknown" };
    case "killed":
      return { kind: "stopped", code: exitCode ?? 137, forced: false };
    case "failed":
      return { kind: "lost" };
    case "exited":
      if (exitCode === undefined) return { kind: "lost" };
      return exitCode === 0 ? { kind: "succeeded" } : { kind: "failed", code: exitCode };
  }
}
