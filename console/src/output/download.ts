import { isSandpipeError, type Execs } from "sandpipe";

/** When so many bytes have come they go to the browser, which may keep them on disk. */
const PART = 4 * 1024 * 1024;

/** It may be of any kind; what says otherwise has some browsers change the file's name. */
const TYPE = { type: "application/octet-stream" };

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
  if (lastSequence === 0) return new Blob([], TYPE);
  let blob = new Blob([], TYPE);
  let parts: BlobPart[] = [];
  let length = 0;
  for await (const { output, sequence } of pieces(execs, id)) {
    // It is never in shared memory.
    parts.push(output as BlobPart);
    length += output.length;
    if (length > PART) {
      blob = new Blob([blob, ...parts], TYPE);
      onProgress(blob.size);
      [parts, length] = [[], 0];
    }
    if (lastSequence !== undefined && sequence >= lastSequence) break;
  }
  return new Blob([blob, ...parts], TYPE);
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

/** Has the browser save a file. */
export function save(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => {
    URL.revokeObjectURL(address);
  }, 60_000);
}
