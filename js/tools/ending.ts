import type { BackgroundProcess, BackgroundStatus } from "../background.js";

/** How a process stands, on one line that begins with its exit code if it has one. */
export function ending({
  status,
  exitCode,
}: Pick<BackgroundProcess, "status" | "exitCode">): string {
  if (status === "running") return "status: running";
  return `exit code: ${exitCode ?? "unknown"}${remark(status, exitCode)}`;
}

function remark(status: BackgroundStatus, exitCode: number | undefined): string {
  switch (status) {
    case "killed":
      if (exitCode === 124) return " (timed out: it was stopped with all that it had started)";
      return ` (killed by ${exitCode === 137 ? "SIGKILL" : "SIGTERM"})`;
    case "failed":
      return " (it is gone: killed from outside, or its machine was started anew)";
    default:
      return "";
  }
}
