import { isSandpipeError, type Execs } from "sandpipe";
import { BlobParts } from "../download/blob-parts.js";

/**
 * The whole output of an exec as a file, byte for byte; as text from an agent that has nothing else.
 *
 * @param lastSequence Up to this event, of an exec that still runs; undefined: to the end.
 * @param onProgress Called with the number of bytes so far.
 */
export async function wholeOutput(
  execs: Execs,
  id: string,
  lastSequence: number | undefined,
  onProgress: (size: number) => void,
): Promise<Blob> {
  const parts = new BlobParts(onProgress);
  if (lastSequence === 0) return parts.whole();
  for await (const { output, sequence } of pieces(execs, id)) {
    parts.add(output);
    if (lastSequence !== undefined && sequence >= lastSequence) break;
  }
  return parts.whole();
}

async function* pieces(
  execs: Execs,
  id: string,
): AsyncGenerator<{ output: string | Uint8Array; sequence: number }> {
  try {
    yield* execs.streamOutput(id, 0, { encoding: "bytes" });
  } catch (error) {
    if (!isSandpipeError(error, "unsupported")) throw error;
    yield* execs.streamOutput(id);
  }
}
