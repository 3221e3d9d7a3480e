import { onEach } from "../target/on-each.js";
import { withProgress } from "../screen/progress.js";
import { Ending, type Outcome } from "./ending.js";
import { killOverdue } from "./kill-overdue.js";
import { described, type Stopped } from "./stopped.js";

/**
 * Stops each of several things and waits until they have ended. A signal to stop does not give that up;
 * a second one forces it. After one, stderr says what became of each.
 *
 * @param graceMs How long they may take to end after SIGTERM, in milliseconds.
 * @param stop Stops one; when the signal is aborted, by force.
 */
export async function stopEach(
  ids: readonly string[],
  graceMs: number,
  stop: (id: string, forced: AbortSignal) => Promise<Stopped>,
): Promise<Outcome> {
  const ending = new Ending();
  // After the line of progress has gone, which listens to that, too.
  ending.stopAtSignals();
  const { output } = ending;
  const ends: string[] = [];
  const stopped = onEach(ids, output, async (id) => {
    const end = await stop(id, ending.forced);
    ends.push(`${id}: ${described(end, graceMs, ending.forced.aborted)}.`);
  });
  const givenUp = killOverdue(ending.forced).then((): Outcome => {
    return { exitCode: 1, message: "the kill was not confirmed." };
  });
  const waiting = Promise.race([stopped, givenUp]);
  const outcome = await withProgress(`stopping ${ids.join(", ")}`, waiting, ending.decided);
  if (ending.signal !== undefined) for (const end of ends) await ending.say(end);
  return outcome.exitCode === 0 ? (ending.outcome ?? outcome) : outcome;
}
