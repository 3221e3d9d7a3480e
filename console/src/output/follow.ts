import type { ExecItem, Execs, ExecStdout, Terminal } from "sandpipe";
import { hasEnded } from "../execs/status.js";

/**
 * Yields each piece of an exec's output once and in order, up to the one with the exit code. What runs is
 * attached to, for a browser has few connections for streams to one host.
 *
 * @param onAttached There is a keyboard now.
 * @param take May take its time: nothing is read meanwhile. `isOld` is what a terminal was there for before:
 * its queries have been answered.
 */
export async function follow(
  execs: Execs,
  item: ExecItem,
  signal: AbortSignal,
  onAttached: (terminal: Terminal) => void,
  take: (event: ExecStdout, isOld: boolean) => Promise<void>,
): Promise<void> {
  if (hasEnded(item)) {
    for await (const event of execs.streamOutput(item.id, 0, { signal })) await take(event, true);
    return;
  }
  const newest = item.pty ? (await execs.getOutput(item.id, -1)).lastSequence : 0;
  const terminal = await execs.attach(item.id);
  const close = () => {
    terminal.close();
  };
  if (signal.aborted) {
    close();
    return;
  }
  signal.addEventListener("abort", close, { once: true });
  try {
    onAttached(terminal);
    for await (const event of terminal) {
      await take(event, event.sequence <= newest);
    }
  } finally {
    signal.removeEventListener("abort", close);
    close();
  }
}
