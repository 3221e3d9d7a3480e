import { Ending, type Outcome } from "./ending.js";
import { killOverdue } from "./kill-overdue.js";
import { errorLine } from "../command-line/error-line.js";
import { onEach } from "../target/on-each.js";
import { withProgress } from "../screen/progress.js";

/**
 * Stops each of several things and waits until they have ended. A signal to stop does not give that up;
 * a second one forces it.
 *
 * @param stop Stops one; when the signal is aborted, by force.
 */
export async function stopEach(
  ids: readonly string[],
  stop: (id: string, forced: AbortSignal) => Promise<unknown>,
): Promise<Outcome> {
  const ending = new Ending();
  ending.listenToSignals();
  const { output } = ending;
  const stopped = onEach(ids, output, (id) => stop(id, ending.forced));
  const givenUp = killOverdue(ending.forced).then((): Outcome => {
    return { exitCode: 1, message: "the kill was not confirmed." };
  });
  const waiting = Promise.race([stopped, givenUp]);
  const progress = withProgress(`stopping ${ids.join(", ")}`, waiting, ending.decided);
  // After the line of progress has gone.
  ending.decided.addEventListener("abort", () => {
    void output.stderr.write(errorLine("still stopping. Once more kills at once."));
  });
  const outcome = await progress;
  return outcome.exitCode === 0 ? (ending.outcome ?? outcome) : outcome;
}
