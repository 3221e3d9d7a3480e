import { ExitDecision, killOverdue, type StandardOutput } from "./exit-decision.js";
import { describeStop, type Outcome, type Stopped } from "./outcome.js";
import { failureOf } from "./failure.js";
import { errorLine } from "./format.js";
import { withProgress } from "./progress.js";

/** Does something with each of several ids at once, and says on stderr what it could not be done with. */
export async function onEach(
  ids: readonly string[],
  { stderr }: StandardOutput,
  act: (id: string) => Promise<unknown>,
): Promise<Outcome> {
  const failures = await Promise.all(
    ids.map(async (id) => {
      try {
        await act(id);
        return false;
      } catch (error) {
        await stderr.write(errorLine(failureOf(id, error)));
        return true;
      }
    }),
  );
  return { exitCode: failures.includes(true) ? 1 : 0 };
}

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
  const exit = new ExitDecision();
  // After the line of progress has gone, which listens to that, too.
  exit.stopAtSignals();
  const { output } = exit;
  const ends: string[] = [];
  const stopped = onEach(ids, output, async (id) => {
    const end = await stop(id, exit.forced);
    ends.push(`${id}: ${describeStop(end, graceMs, exit.forced.aborted)}.`);
  });
  const givenUp = killOverdue(exit.forced).then((): Outcome => {
    return { exitCode: 1, message: "the kill was not confirmed." };
  });
  const waiting = Promise.race([stopped, givenUp]);
  const outcome = await withProgress(`stopping ${ids.join(", ")}`, waiting, exit.decided);
  if (exit.signal !== undefined) for (const end of ends) await exit.say(end);
  return outcome.exitCode === 0 ? (exit.outcome ?? outcome) : outcome;
}
