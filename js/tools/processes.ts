import type { Background } from "../background.js";
import type { BackgroundProcess, BackgroundStatus } from "../core/sandpipe.js";
import { unknownProcess } from "./failure.js";

/**
 * Checks an id that a model gave.
 *
 * @throws {NotFoundError} No process can have it: ids are names of directories.
 */
export function checkProcessId(id: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/.test(id)) throw unknownProcess(id);
}

/** How a process stands, on one line that begins with its exit code if it has one. */
export function statusLine({
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

/** How many processes that have ended are kept, with their output. */
const KEPT = 50;

/** Removes the processes that ended first, but for the newest. */
export async function keepNewest(processes: Background): Promise<void> {
  try {
    const ended = (await processes.list()).filter(({ status }) => status !== "running");
    for (const { id } of newestFirst(ended).slice(KEPT)) {
      // Another may have removed it; or something that it started still runs.
      await processes.remove(id).catch(() => undefined);
    }
  } catch {
    // The call that this belongs to has done its work. The next one tidies up, too.
  }
}

function newestFirst(processes: BackgroundProcess[]): BackgroundProcess[] {
  // All are times of one clock.
  const end = ({ exitedAt, startedAt }: BackgroundProcess): number =>
    Date.parse(exitedAt ?? startedAt);
  return processes.sort((a, b) => end(b) - end(a));
}
