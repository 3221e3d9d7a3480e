import type { ExecItem } from "sandpipe";

/** Whether it has ended: its output is complete. */
export function hasEnded({ status }: ExecItem): boolean {
  return status === "EXITED" || status === "STOPPED";
}

/** Whether there is a process to be stopped. */
export function isRunning({ status }: ExecItem): boolean {
  return status === "RUNNING" || status === "STOPPING";
}

/** The exit code, once there is one. */
export function exitCodeOf({ exitCode }: ExecItem): number | undefined {
  return exitCode < 0 ? undefined : exitCode;
}

/** How a status is to look: what runs, what went well, what did not, what has not begun. */
export function look(item: ExecItem): "running" | "good" | "bad" | "idle" {
  if (isRunning(item)) return "running";
  if (!hasEnded(item)) return "idle";
  return item.exitCode === 0 ? "good" : "bad";
}
