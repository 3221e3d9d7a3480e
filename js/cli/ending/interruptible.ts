import { aborted } from "./aborted.js";
import { Ending, type Outcome, type StandardOutput } from "./ending.js";

/**
 * Does work that may be left at any time, as looking on may: a signal to stop, or an output that nobody
 * reads, decides the outcome, and what it looks at goes on.
 *
 * @param work Gives the outcome, if it is another than exit code 0.
 * @param close Closes what the work has opened. A second signal does not wait for it.
 */
export async function interruptible(
  work: (output: StandardOutput, told: AbortSignal) => Promise<Outcome | undefined>,
  close?: () => void | Promise<void>,
): Promise<Outcome> {
  const ending = new Ending();
  ending.listenToSignals();
  try {
    const done = work(ending.output, ending.decided);
    const outcome = await Promise.race([done, ending.wait()]).catch((error: unknown) => {
      // What was told to stop may say so first.
      if (ending.outcome === undefined) throw error;
      return undefined;
    });
    return ending.outcome ?? outcome ?? { exitCode: 0 };
  } finally {
    await Promise.race([close?.(), aborted(ending.forced)]);
  }
}
