import { fstatSync } from "node:fs";
import { PassThrough, pipeline } from "node:stream";

/** The most of what came meanwhile that goes to a command at a time. */
const GATHERED_BYTES = 1024 * 1024;

/**
 * Stdin for a command, byte for byte. Keys go as they come. Of anything else, what comes while earlier input is on its
 * way becomes one piece: a request for each that the system gives would take most of the time.
 */
export function readStdin(): AsyncIterable<Uint8Array> {
  const { stdin } = process;
  if (stdin.isTTY) return stdin;
  const pieces = new PassThrough({ readableHighWaterMark: GATHERED_BYTES });
  // An error of stdin is thrown by what is returned.
  return pipeline(stdin, pieces, () => undefined);
}

/**
 * Says whether stdin can be read, before anything is run: of what it can't read, Node makes an empty stream.
 *
 * @throws It can't be.
 */
export function checkStdin(): void {
  const stats = fstatSync(0);
  if (stats.isDirectory()) throw new Error("stdin can't be passed on: it is a directory (EISDIR).");
  if (stats.isFile() || stats.isFIFO() || stats.isSocket() || stats.isCharacterDevice()) return;
  throw new Error("stdin can't be passed on: it is no file, pipe, socket or terminal.");
}
