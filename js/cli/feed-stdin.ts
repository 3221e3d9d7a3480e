import type { Execs } from "../execs.js";

/**
 * Passes stdin on to a command, and its end. It reads no faster than the command does; where the
 * command reads no more, it stops.
 */
export function feedStdin(
  execs: Execs,
  id: string,
  stdin: AsyncIterable<Uint8Array>,
  isTerminal: boolean,
): Promise<void> {
  return execs.sendStdin(id, isTerminal ? keysOf(stdin) : stdin);
}

/** What a keyboard gives, as text: what is none is replaced. */
async function* keysOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true });
  yield decoder.decode();
}
