import type { ExecItem, Execs, ExecStdout, Terminal } from "sandpipe";
import { hasEnded } from "../runs/status.js";

/** Up to so many pieces, all are read again to be attached to what runs: it takes no connection of the few. */
const MAX_REPLAYED = 256;

/** How many pieces at the end are shown first. */
export const TAIL = 8;

/** Where an output is read from: after a piece, or a number of pieces before its end. */
export type From = { after: number } | { tail: number };

/**
 * Yields the pieces of an exec's output in order, up to the one with the exit code.
 *
 * Attached to over a WebSocket where it runs and has little output yet, for a browser has few connections for
 * streams to one host: then all there is comes, whatever was asked for as its end.
 */
export async function* follow(
  execs: Execs,
  item: ExecItem,
  from: From,
  signal: AbortSignal,
): AsyncGenerator<ExecStdout, void> {
  const after = "after" in from ? from.after : 0;
  if (!hasEnded(item)) {
    const { lastSequence } = await execs.getOutput(item.id, -1);
    if (lastSequence <= MAX_REPLAYED) {
      for await (const event of attached(await execs.attach(item.id), signal)) {
        if (event.sequence > after) yield event;
      }
      return;
    }
  }
  yield* execs.streamOutput(item.id, "tail" in from ? -from.tail : after, { signal });
}

/** What a terminal shows, until the signal. */
export async function* attached(
  terminal: Terminal,
  signal: AbortSignal,
): AsyncGenerator<ExecStdout, void> {
  const close = () => {
    terminal.close();
  };
  if (signal.aborted) close();
  signal.addEventListener("abort", close, { once: true });
  try {
    yield* terminal;
  } finally {
    signal.removeEventListener("abort", close);
    close();
  }
}

/**
 * The pieces before one, up to a number of them; fewer at the beginning.
 *
 * @throws {OutputLostError} The agent no longer has some of them: `to` is the last of those.
 */
export async function piecesBefore(
  execs: Execs,
  id: string,
  before: number,
  count: number,
  signal: AbortSignal,
): Promise<ExecStdout[]> {
  const after = Math.max(0, before - 1 - count);
  const pieces: ExecStdout[] = [];
  if (before <= 1) return pieces;
  for await (const event of execs.streamOutput(id, after, { signal })) {
    if (event.sequence < before) pieces.push(event);
    if (event.sequence >= before - 1) break;
  }
  return pieces;
}
