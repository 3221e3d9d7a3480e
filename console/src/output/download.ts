import type { Execs } from "sandpipe";

/** When so many characters have come they go to the browser, which may keep them on disk. */
const PART = 4 * 1024 * 1024;

/**
 * The whole output of an exec, as the agent has it, as a file.
 *
 * @param lastSequence Up to this event, of an exec that still runs; undefined: to the end.
 * @param onProgress Called with the number of characters so far.
 */
export async function wholeOutput(
  execs: Execs,
  id: string,
  lastSequence: number | undefined,
  onProgress: (length: number) => void,
): Promise<Blob> {
  const type = "text/plain;charset=utf-8";
  let blob = new Blob([], { type });
  let parts: string[] = [];
  let [length, total] = [0, 0];
  if (lastSequence === 0) return blob;
  for await (const { output, sequence } of execs.streamOutput(id)) {
    parts.push(output);
    length += output.length;
    if (length > PART) {
      blob = new Blob([blob, ...parts], { type });
      total += length;
      onProgress(total);
      [parts, length] = [[], 0];
    }
    if (lastSequence !== undefined && sequence >= lastSequence) break;
  }
  return new Blob([blob, ...parts], { type });
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
