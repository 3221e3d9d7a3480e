import type { ExecItem } from "sandpipe";

/** Whether it has ended: its output is complete. */
export function hasEnded({ status }: ExecItem): boolean {
  return status === "EXITED" || status === "STOPPED";
}

/** Whether there is a process to be stopped. */
export function isRunning({ status }: ExecItem): boolean {
  return status === "RUNNING" || status === "STOPPING";
}

/** How long it has run, in milliseconds; undefined where the agent does not tell. */
export function durationOf({ startedAt, endedAt }: ExecItem, now: number): number | undefined {
  if (startedAt === undefined) return undefined;
  const end = endedAt === undefined ? now : Date.parse(endedAt);
  return Math.max(0, end - Date.parse(startedAt));
}
