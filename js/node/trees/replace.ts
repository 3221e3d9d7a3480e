// What takes its place as a whole.
import { randomUUID } from "node:crypto";
import {
  closeSync,
  fchmodSync,
  futimesSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { Attributes } from "./attributes.js";

/** Makes something beside its place, and gives it that place. Nothing is left where it fails. */
export async function replaced(
  path: string,
  make: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = temporaryBeside(path);
  try {
    await make(temporary);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** The same without Node's threads. */
export function replacedSync(path: string, make: (temporary: string) => void): void {
  const temporary = temporaryBeside(path);
  try {
    make(temporary);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/**
 * Makes a hard link in the same way. Where the name is one of the file already rename(2) does nothing, and leaves the temporary one.
 */
export function linked(path: string, to: string): void {
  const temporary = temporaryBeside(path);
  try {
    linkSync(to, temporary);
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}

function temporaryBeside(path: string): string {
  return join(dirname(path), `.sandpipe-${randomUUID()}`);
}

/** Writes a new file without Node's threads. */
export function writeSmall(
  path: string,
  { mode, time }: Attributes,
  chunks: readonly Uint8Array[],
): void {
  const file = openSync(path, "wx", mode);
  try {
    for (const chunk of chunks) {
      for (let at = 0; at < chunk.length;) at += writeSync(file, chunk, at);
    }
    // `open` has left out what the umask has.
    fchmodSync(file, mode);
    futimesSync(file, time, time);
  } finally {
    closeSync(file);
  }
}

/** Writes a new file. */
export async function writeFile(
  path: string,
  { mode, time }: Attributes,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  const file = await open(path, "wx", mode);
  try {
    for await (const chunk of content) await writeAll(file, chunk);
    // `open` has left out what the umask has.
    await file.chmod(mode);
    await file.utimes(time, time);
  } finally {
    await file.close();
  }
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length;) {
    const { bytesWritten } = await file.write(chunk, at);
    at += bytesWritten;
  }
}
