import type { Readable } from "node:stream";

/** Longest silence after which output is complete, in milliseconds. */
const QUIET_MS = 200;

/** Longest time that output is taken after the process has ended, in milliseconds. */
const REST_MS = 2_000;

/**
 * Waits for the rest of a command's output, which the last parts of a pipeline may write after its process has ended.
 * Resolves when the stream is at its end, has brought nothing for 200 ms, or after 2 s. Something else reads the stream.
 */
export function restOfOutput(stream: Readable): Promise<void> {
  if (stream.readableEnded || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let chunks = 0;
    const note = (): void => {
      chunks += 1;
      quiet.refresh();
    };
    const end = (): void => {
      clearTimeout(quiet);
      clearTimeout(longest);
      stream.off("data", note).off("end", end).off("close", end);
      resolve();
    };
    const quiet = setTimeout(() => {
      const before = chunks;
      // The event loop may have been held up: what has come meanwhile is read first.
      setImmediate(() => {
        if (chunks === before) end();
      });
    }, QUIET_MS);
    const longest = setTimeout(end, REST_MS);
    stream.on("data", note).once("end", end).once("close", end);
  });
}
