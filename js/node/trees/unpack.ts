// A tar stream as a directory of this machine. What is small is written without Node's threads.
import { chmodSync, lstatSync, lutimesSync, mkdirSync, symlinkSync, utimesSync } from "node:fs";
import { mkdir, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";

import type { Extract, Header } from "tar-stream";

import { HttpError } from "../../core/errors.js";
import { ArchiveEnd } from "./archive-end.js";
import { type Attributes, attributesOf } from "./attributes.js";
import { linked, replaced, replacedSync, writeFile, writeSmall } from "./replace.js";
import { extract } from "./tar.js";

/** Files up to this length are written at once, in bytes. */
const SMALL = 64 * 1024;

/** How long it goes on before others have their turn, in milliseconds. */
const TURN = 10;

/** Of how many directories mode and time are kept to be set when all is in them. */
const MAX_DIRECTORIES = 100_000;

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
 * no file, directory or link. What was written before a failure stays, with its mode and time. After a failure of its own it does not wait for
 * the next chunk: whoever gives them ends them.
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
  const end = new ArchiveEnd();
  const feeding = feed(chunks, archive, end, (error) => (failure = { error }));
  // It is awaited below, later.
  feeding.catch(() => undefined);
  const giveTurn = takeTurns();
  try {
    for await (const entry of archive) {
      await giveTurn();
      end.entry(entry.header);
      await target.take(entry.header, entry as unknown as AsyncIterable<Uint8Array>);
      // What was not read of it.
      entry.resume();
    }
    await feeding;
    end.check();
  } catch (error) {
    archive.destroy();
    // Why it fails says more than what fails then.
    await target.finish().catch(() => undefined);
    if (error instanceof HttpError) throw error;
    // What the chunks themselves failed with says more.
    throw (failure as { error: unknown } | undefined)?.error ?? error;
  }
  await target.finish();
}

/** Lets others have their turn, where it is time for it. */
function takeTurns(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < TURN) return;
    await setImmediate();
    since = performance.now();
  };
}

/** Writes the chunks, no faster than they are taken. `failed` is called before whoever reads the archive is told. */
async function feed(
  chunks: AsyncIterable<Uint8Array>,
  archive: Extract,
  end: ArchiveEnd,
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
      end.chunk(chunk);
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
  /** What is set of directories when all is in them, by path. */
  readonly #directories = new Map<string, Attributes>();

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
        if (name !== "") await this.#setLater(path, attributesOf(header));
        this.#unpacked({ bytes: 0, isFile: false });
        return;
      case "file":
      case "contiguous-file": {
        this.#makeDirectory(parentOf(name));
        if (header.size > SMALL) {
          await replaced(path, (temporary) => writeFile(temporary, attributesOf(header), content));
          this.#unpacked({ bytes: header.size, isFile: true });
          return;
        }
        const chunks: Uint8Array[] = [];
        for await (const chunk of content) chunks.push(chunk);
        replacedSync(path, (temporary) => {
          writeSmall(temporary, attributesOf(header), chunks);
        });
        this.#unpacked({ bytes: header.size, isFile: true });
        return;
      }
      case "symlink":
        this.#makeDirectory(parentOf(name));
        replacedSync(path, (temporary) => {
          symlinkSync(linkTarget, temporary);
          const { time } = attributesOf(header);
          lutimesSync(temporary, time, time);
        });
        // It may stand where a directory was taken for one.
        this.#forget();
        this.#unpacked({ bytes: 0, isFile: false });
        return;
      case "link": {
        this.#makeDirectory(parentOf(name));
        const to = safeName(linkTarget);
        this.#makeDirectory(parentOf(to));
        linked(path, join(this.#root, to));
        this.#unpacked({ bytes: 0, isFile: true });
        return;
      }
      default:
        return;
    }
  }

  /** Sets what directories are to be like, now that nothing is written into them any more. */
  async finish(): Promise<void> {
    await this.#setAttributes(() => true);
  }

  /**
   * Sets what those directories are to be like that are complete: those that are deepest first.
   *
   * @throws What the first one that fails does, when all have been tried.
   */
  async #setAttributes(isComplete: (path: string) => boolean): Promise<void> {
    let failure: { error: unknown } | undefined;
    const giveTurn = takeTurns();
    for (const [path, attributes] of [...this.#directories].reverse()) {
      await giveTurn();
      if (!isComplete(path)) continue;
      this.#directories.delete(path);
      try {
        setAttributes(path, attributes);
      } catch (error) {
        failure ??= { error };
      }
    }
    if (failure !== undefined) throw failure.error;
  }

  /** Makes room for it where that takes it: what a directory has follows it, so that others are complete by then. */
  async #setLater(path: string, attributes: Attributes): Promise<void> {
    if (this.#directories.size >= MAX_DIRECTORIES && !this.#directories.has(path)) {
      await this.#setAttributes((other) => !path.startsWith(`${other}/`));
    }
    this.#directories.set(path, attributes);
  }

  #forget(): void {
    this.#known.clear();
    this.#known.add("");
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
      if (isWritten && isClosed) chmodSync(path, (stats.mode & 0o777) | OWNER);
    }
    if (this.#known.size >= MAX_DIRECTORIES) this.#forget();
    this.#known.add(name);
  }
}

/** Of a directory that it has made or looked at. */
function setAttributes(path: string, { mode, time }: Attributes): void {
  chmodSync(path, mode);
  utimesSync(path, time, time);
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
