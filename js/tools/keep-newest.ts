import type { Background, BackgroundProcess } from "../background.js";

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
