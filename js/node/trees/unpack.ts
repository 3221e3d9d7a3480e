// A tar stream as a directory of this machine. What is small is written without Node's threads.
import { chmodSync, lutimesSync, mkdirSync, statSync, symlinkSync, utimesSync } from "node:fs";
import { posix } from "node:path";
import { setImmediate } from "node:timers/promises";

import type { Extract, Header } from "tar-stream";

import { HttpError, NotTextError } from "../../core/errors.js";
import { ArchiveEnd } from "./archive-end.js";
import { type Attributes, attributesOf } from "./attributes.js";
import { type HeldDirectory, HeldPath } from "./held-directory.js";
import { linked, replaced, replacedSync, writeFile, writeSmall } from "./replace.js";
import { safeName, UnsafeNameError } from "./safe-name.js";
import { extract } from "./tar.js";

/** Files up to this length are written at once, in bytes. */
const SMALL = 64 * 1024;

/** How long it goes on before others have their turn, in milliseconds. */
const TURN = 10;

/** Number of directories whose mode and time are kept, to be set when all is in them. */
const MAX_DIRECTORIES = 100_000;

/** What the owner of a directory needs to write into it. */
const OWNER = 0o700;

/** What is told of each file that has been written. */
export interface UnpackedFile {
  bytes: number;
  isFile: boolean;
}

/**
 * Unpacks a tar stream into a directory. Each file is written beside its place and takes it whole; nothing is written outside of the
 * directory, whatever names and links say, and whatever takes the place of a directory meanwhile. Modes and times are kept; owners are not, nor what is
 * no file, directory or link. What was written before a failure stays, with its mode and time. After a failure of its own it does not wait for
 * the next chunk: whoever gives them ends them.
 *
 * @param unpacked Called with what has been written.
 * @param maxDirectories Another limit than the usual one, for tests.
 */
export async function unpackTree(
  chunks: AsyncIterable<Uint8Array>,
  root: HeldDirectory,
  unpacked: (file: UnpackedFile) => void,
  maxDirectories = MAX_DIRECTORIES,
): Promise<void> {
  const target = new Target(root, unpacked, maxDirectories);
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
  readonly #root: HeldDirectory;
  readonly #unpacked: (file: UnpackedFile) => void;
  readonly #maxDirectories: number;
  /** Where it writes. */
  readonly #path: HeldPath;
  /** Where the file is that a hard link is made of. */
  readonly #linkPath: HeldPath;
  /** What is set of directories when all is in them, by name. */
  readonly #directories = new Map<string, Attributes>();

  constructor(root: HeldDirectory, unpacked: (file: UnpackedFile) => void, maxDirectories: number) {
    this.#root = root;
    this.#unpacked = unpacked;
    this.#maxDirectories = maxDirectories;
    this.#path = new HeldPath(root);
    this.#linkPath = new HeldPath(root);
  }

  /** Takes an entry, and writes it. */
  async take(header: Header, content: AsyncIterable<Uint8Array>): Promise<void> {
    const { pax } = header as { pax?: Partial<Record<string, string>> | null };
    checkFailure(pax);
    try {
      await this.#write(header, pax, content);
    } catch (error) {
      throw this.#named(error);
    }
  }

  async #write(
    header: Header,
    pax: Partial<Record<string, string>> | null | undefined,
    content: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    // Null for what is no link.
    const linkname = header.linkname as string | null;
    const name = safeName(textOf(header.name, pax?.["path"] !== undefined));
    const linkTarget = textOf(linkname ?? "", pax?.["linkpath"] !== undefined);
    if (name === "" && header.type !== "directory") {
      throw new UnsafeNameError(
        `${this.#root.name} is a directory, but the archive has something else`,
        header.name,
      );
    }
    const own = posix.basename(name);
    switch (header.type) {
      case "directory":
        this.#makeDirectory(name, true);
        if (name !== "") await this.#setLater(name, attributesOf(header));
        this.#unpacked({ bytes: 0, isFile: false });
        return;
      case "file":
      case "contiguous-file": {
        const directory = this.#makeDirectory(parentOf(name));
        const path = directory.path(own);
        if (header.size > SMALL) {
          await replaced(path, (temporary) => writeFile(temporary, attributesOf(header), content));
        } else {
          const chunks: Uint8Array[] = [];
          for await (const chunk of content) chunks.push(chunk);
          replacedSync(path, (temporary) => {
            writeSmall(temporary, attributesOf(header), chunks);
          });
        }
        directory.check();
        this.#unpacked({ bytes: header.size, isFile: true });
        return;
      }
      case "symlink": {
        const directory = this.#makeDirectory(parentOf(name));
        replacedSync(directory.path(own), (temporary) => {
          symlinkSync(linkTarget, temporary);
          const { time } = attributesOf(header);
          lutimesSync(temporary, time, time);
        });
        directory.check();
        this.#unpacked({ bytes: 0, isFile: false });
        return;
      }
      case "link": {
        const directory = this.#makeDirectory(parentOf(name));
        const to = safeName(linkTarget);
        const isBeside = parentOf(to) === parentOf(name);
        const source = isBeside ? directory : this.#linkPath.enter(parentOf(to));
        linked(directory.path(own), source.path(posix.basename(to)));
        directory.check();
        this.#unpacked({ bytes: 0, isFile: true });
        return;
      }
      default:
        return;
    }
  }

  #named(error: unknown): unknown {
    return this.#path.named(this.#linkPath.named(error));
  }

  /** Sets what directories are to be like, now that nothing is written into them any more, and lets go of those that it holds. */
  async finish(): Promise<void> {
    try {
      await this.#setAttributes(() => true);
    } finally {
      this.#path.close();
      this.#linkPath.close();
    }
  }

  /**
   * Sets what those directories are to be like that are complete: those that are deepest first.
   *
   * @throws What the first one that fails does, when all have been tried.
   */
  async #setAttributes(isComplete: (name: string) => boolean): Promise<void> {
    let failure: { error: unknown } | undefined;
    const giveTurn = takeTurns();
    for (const [name, attributes] of [...this.#directories].reverse()) {
      await giveTurn();
      if (!isComplete(name)) continue;
      this.#directories.delete(name);
      try {
        setAttributes(this.#path.enter(name), attributes);
      } catch (error) {
        failure ??= { error: this.#named(error) };
      }
    }
    if (failure !== undefined) throw failure.error;
  }

  /** Makes room for it where that takes it: what a directory has follows it, so that others are complete by then. */
  async #setLater(name: string, attributes: Attributes): Promise<void> {
    if (this.#directories.size >= this.#maxDirectories && !this.#directories.has(name)) {
      await this.#setAttributes((other) => !name.startsWith(`${other}/`));
    }
    this.#directories.set(name, attributes);
  }

  /**
   * Makes a directory with those above it, none of which is a symbolic link, and enters it.
   *
   * @param isWritten Its mode is set at the end: one that is there is made writable until then, if it is the user's own.
   */
  #makeDirectory(name: string, isWritten = false): HeldDirectory {
    const directory = this.#path.enter(name, (above, part) => {
      try {
        mkdirSync(above.path(part));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
      return above.open(part);
    });
    if (isWritten && directory !== this.#root) {
      const { mode, uid } = statSync(directory.path());
      const isClosed = (mode & OWNER) !== OWNER && uid === process.geteuid?.();
      if (isClosed) chmodSync(directory.path(), (mode & 0o777) | OWNER);
    }
    return directory;
  }
}

function setAttributes(directory: HeldDirectory, { mode, time }: Attributes): void {
  chmodSync(directory.path(), mode);
  utimesSync(directory.path(), time, time);
}

/**
 * What the characters of a name say, each of which is a byte; in the records of pax it is text already.
 *
 * @throws {NotTextError} They are not UTF-8.
 */
function textOf(name: string, isText: boolean): string {
  const bytes = Buffer.from(name, "latin1");
  const text = isText ? name : bytes.toString();
  // What is not UTF-8 has become U+FFFD.
  const isWhole = isText ? !name.includes("\uFFFD") : Buffer.from(text).equals(bytes);
  if (isWhole) return text;
  // Two such names could become one.
  throw new NotTextError(
    `${JSON.stringify(text)} is not UTF-8, or was not: a tree with such a name can't be unpacked here`,
    { path: text },
  );
}

function parentOf(name: string): string {
  const parent = posix.dirname(name);
  return parent === "." ? "" : parent;
}
