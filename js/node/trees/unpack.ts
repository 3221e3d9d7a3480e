// A tar stream as a directory of this machine. What is small is written without Node's threads.
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  closeSync,
  fchmodSync,
  futimesSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { type FileHandle, mkdir, open, realpath, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";

import type { Extract, Header } from "tar-stream";

import { HttpError } from "../../core/errors.js";
import { extract } from "./tar.js";

/** Files up to this length are written at once, in bytes. */
const SMALL = 64 * 1024;

/** How many directories are dealt with before others have their turn: that takes some milliseconds. */
const BATCH = 500;

/** Permission bits that are kept: whose rights a program has is not for another machine to say. */
const MODE = 0o777;

/** What the owner of a directory needs to write into it. */
const OWNER = 0o700;

/** Where the name of a file is not inside of the directory, or leads out of it. */
export class UnsafeNameError extends Error {
  override readonly name = "UnsafeNameError";
}

/** Where a name, or the target of a link, is not UTF-8: two such names could become one. */
export class UnreadableNameError extends Error {
  override readonly name = "UnreadableNameError";
}

/** What is told of each file that has been written. */
export interface UnpackedFile {
  bytes: number;
  isFile: boolean;
}

/**
 * Unpacks a tar stream into a directory, which is made where it is missing. Each file is written beside its place and takes it whole;
 * nothing is written outside of the directory, whatever names and links say. Modes and times are kept; owners are not, nor what is
 * no file, directory or link. What was written before a failure stays. After one of its own it does not wait for the next chunk: whoever
 * gives them ends them.
 *
 * @param unpacked Called with what has been written.
 */
export async function unpackTree(
  chunks: AsyncIterable<Uint8Array>,
  root: string,
  unpacked: (file: UnpackedFile) => void,
): Promise<void> {
  await mkdir(root, { recursive: true });
  const target = new Target(await realpath(root), unpacked);
  // Each character is a byte then; `textOf` makes text of them. Its types lack the option.
  const archive = extract({ filenameEncoding: "latin1" } as object);
  // Whoever reads it is told, once it is read.
  archive.on("error", () => undefined);
  let failure: { error: unknown } | undefined;
  const feeding = feed(chunks, archive, (error) => (failure = { error }));
  // It is awaited below, later.
  feeding.catch(() => undefined);
  try {
    for await (const entry of archive) {
      await target.take(entry.header, entry as unknown as AsyncIterable<Uint8Array>);
      // What was not read of it.
      entry.resume();
    }
    await feeding;
    await target.end();
  } catch (error) {
    archive.destroy();
    if (error instanceof HttpError) throw error;
    // What the chunks themselves failed with says more.
    throw (failure as { error: unknown } | undefined)?.error ?? error;
  }
}

/** Writes the chunks, no faster than they are taken. `failed` is called before whoever reads the archive is told. */
async function feed(
  chunks: AsyncIterable<Uint8Array>,
  archive: Extract,
  failed: (error: unknown) => void,
): Promise<void> {
  const isGone = new Promise<true>((resolve) =>
    archive.once("close", () => {
      resolve(true);
    }),
  );
  try {
    for await (const chunk of chunks) {
      if (archive.destroyed) return;
      // It is the memory of whoever gave it.
      if (archive.write(chunk)) continue;
      const drained = new Promise<false>((resolve) =>
        archive.once("drain", (): void => {
          resolve(false);
        }),
      );
      if (await Promise.race([drained, isGone])) return;
    }
    archive.end(null);
  } catch (error) {
    failed(error);
    archive.destroy(error as Error);
    throw error;
  }
}

/** @throws {HttpError} The agent says by records of an extended header why the stream ends before all is in it. */
function checkFailure(pax: Partial<Record<string, string>> | null | undefined): void {
  const status = Number(pax?.["SANDPIPE.failure.status"]);
  const body = pax?.["SANDPIPE.failure.message"];
  if (body === undefined || !Number.isInteger(status)) return;
  const operation = "read tree";
  throw new HttpError(`${operation}: the agent answered ${status}: ${body}`, {
    status,
    operation,
    body,
  });
}

/** A directory that is unpacked into. */
class Target {
  readonly #root: string;
  readonly #unpacked: (file: UnpackedFile) => void;
  /** The directories that are known to be some, and to be inside. */
  readonly #known = new Set<string>([""]);
  /** What is set of directories when all is in them. */
  readonly #directories: { path: string; header: Header }[] = [];

  constructor(root: string, unpacked: (file: UnpackedFile) => void) {
    this.#root = root;
    this.#unpacked = unpacked;
  }

  /** Takes an entry, and writes it. */
  async take(header: Header, content: AsyncIterable<Uint8Array>): Promise<void> {
    const { pax } = header as { pax?: Partial<Record<string, string>> | null };
    checkFailure(pax);
    // Null for what is no link.
    const linkname = header.linkname as string | null;
    const name = safeName(textOf(header.name, pax?.["path"] !== undefined));
    const linkTarget = textOf(linkname ?? "", pax?.["linkpath"] !== undefined);
    const path = join(this.#root, name);
    if (name === "" && header.type !== "directory") {
      throw new UnsafeNameError(`${this.#root} is a directory, but the archive has something else`);
    }
    switch (header.type) {
      case "directory":
        this.#makeDirectory(name, true);
        if (name !== "") this.#directories.push({ path, header });
        this.#unpacked({ bytes: 0, isFile: false });
        return;
      case "file":
      case "contiguous-file": {
        this.#makeDirectory(parentOf(name));
        if (header.size > SMALL) {
          await replaced(path, (temporary) => writeFile(temporary, header, content));
          this.#unpacked({ bytes: header.size, isFile: true });
          return;
        }
        const chunks: Uint8Array[] = [];
        for await (const chunk of content) chunks.push(chunk);
        replacedSync(path, (temporary) => {
          writeSmall(temporary, header, chunks);
        });
        this.#unpacked({ bytes: header.size, isFile: true });
        return;
      }
      case "symlink":
        this.#makeDirectory(parentOf(name));
        replacedSync(path, (temporary) => {
          symlinkSync(linkTarget, temporary);
          const time = timeOf(header);
          lutimesSync(temporary, time, time);
        });
        // It may stand where a directory was taken for one.
        this.#known.clear();
        this.#known.add("");
        this.#unpacked({ bytes: 0, isFile: false });
        return;
      case "link": {
        this.#makeDirectory(parentOf(name));
        const to = safeName(linkTarget);
        this.#makeDirectory(parentOf(to));
        replacedSync(path, (temporary) => {
          linkSync(join(this.#root, to), temporary);
        });
        this.#unpacked({ bytes: 0, isFile: true });
        return;
      }
      default:
        return;
    }
  }

  /** Sets what directories are to be like, now that nothing is written into them any more: those that are deepest first. */
  async end(): Promise<void> {
    for (const [index, { path, header }] of this.#directories.reverse().entries()) {
      if (index % BATCH === BATCH - 1) await setImmediate();
      const time = timeOf(header);
      // It is one; it was made so that its owner may write into it.
      chmodSync(path, header.mode & MODE);
      utimesSync(path, time, time);
    }
  }

  /**
   * Makes a directory with those above it, none of which is a symbolic link.
   *
   * @param isWritten Its mode is set at the end: one that is there is made writable until then, if it is the user's own.
   */
  #makeDirectory(name: string, isWritten = false): void {
    if (this.#known.has(name)) return;
    this.#makeDirectory(parentOf(name));
    const path = join(this.#root, name);
    try {
      mkdirSync(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      const stats = lstatSync(path);
      if (stats.isSymbolicLink()) {
        throw new UnsafeNameError(`${path} is a symbolic link: nothing is written through it`, {
          cause: error,
        });
      }
      if (!stats.isDirectory()) throw error;
      const isClosed = (stats.mode & OWNER) !== OWNER && stats.uid === process.geteuid?.();
      if (isWritten && isClosed) chmodSync(path, (stats.mode & MODE) | OWNER);
    }
    this.#known.add(name);
  }
}

/** Makes something beside its place, and gives it that place. Nothing is left where it fails. */
async function replaced(path: string, make: (temporary: string) => Promise<void>): Promise<void> {
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
function replacedSync(path: string, make: (temporary: string) => void): void {
  const temporary = temporaryBeside(path);
  try {
    make(temporary);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function temporaryBeside(path: string): string {
  return join(dirname(path), `.sandpipe-${randomUUID()}`);
}

function writeSmall(path: string, header: Header, chunks: readonly Uint8Array[]): void {
  const mode = header.mode & MODE;
  const file = openSync(path, "wx", mode);
  try {
    for (const chunk of chunks) {
      for (let at = 0; at < chunk.length;) at += writeSync(file, chunk, at);
    }
    // `open` has left out what the umask has.
    fchmodSync(file, mode);
    const time = timeOf(header);
    futimesSync(file, time, time);
  } finally {
    closeSync(file);
  }
}

async function writeFile(
  path: string,
  header: Header,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  const mode = header.mode & MODE;
  const file = await open(path, "wx", mode);
  try {
    for await (const chunk of content) await writeAll(file, chunk);
    // `open` has left out what the umask has.
    await file.chmod(mode);
    const time = timeOf(header);
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

/**
 * A name with slashes that is inside of the directory; empty for the directory itself.
 *
 * @throws {UnsafeNameError} It is not.
 */
function safeName(name: string): string {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  if (!name.startsWith("/") && !parts.includes("..") && !name.includes("\0"))
    return parts.join("/");
  throw new UnsafeNameError(`the name ${JSON.stringify(name)} is outside of the directory`);
}

/**
 * What the characters of a name say, each of which is a byte; in the records of pax it is text already.
 *
 * @throws {UnreadableNameError} They are not UTF-8.
 */
function textOf(name: string, isText: boolean): string {
  const bytes = Buffer.from(name, "latin1");
  const text = isText ? name : bytes.toString();
  // What is not UTF-8 has become U+FFFD.
  const isWhole = isText ? !name.includes("\uFFFD") : Buffer.from(text).equals(bytes);
  if (isWhole) return text;
  throw new UnreadableNameError(
    `${JSON.stringify(text)} is not UTF-8, or was not: a tree with such a name can't be unpacked here`,
  );
}

function parentOf(name: string): string {
  const parent = dirname(name);
  return parent === "." ? "" : parent;
}

/** When a file was changed, as `fs` takes it: as exactly as the archive says it, in seconds. */
function timeOf({ mtime, pax }: Header): number | Date {
  const exact = Number((pax as { mtime?: string } | null | undefined)?.mtime);
  const seconds = Number.isFinite(exact) ? exact : mtime.getTime() / 1000;
  // Node.js takes a negative number for the current time, and a date for what it is.
  return seconds < 0 ? new Date(seconds * 1000) : seconds;
}
