import { isSandpipeError } from "../core/errors.js";
import type { OutputEvent } from "../events.js";
import type { Execs } from "../execs.js";

/**
 * The pieces of an exec's output after `lastSequence`, up to its exit code, byte for byte; as text from an agent that has nothing
 * else.
 */
export async function* outputPieces(
  execs: Execs,
  id: string,
  lastSequence: number,
): AsyncGenerator<OutputEvent<Uint8Array | string>> {
  try {
    yield* execs.streamOutput(id, lastSequence, { encoding: "bytes" });
  } catch (error) {
    if (!isSandpipeError(error, "unsupported")) throw error;
    yield* execs.streamOutput(id, lastSequence);
  }
}
