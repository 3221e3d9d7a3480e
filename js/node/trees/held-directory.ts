// Directories that stay the same while files are read and written in them, though their names may lead elsewhere meanwhile.
import { closeSync, constants, existsSync, lstatSync, openSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

import { FileChangedError } from "../../core/errors.js";

/** Opens a place and not its content (open(2)), so that it takes no permission to read it. Node.js has no name for it. */
const O_PATH = 0o10000000;

/** Where Linux leads to what is behind a descriptor (proc(5)). */
const DESCRIPTORS = "/proc/self/fd";

const HAS_DESCRIPTORS = process.platform === "linux" && existsSync(DESCRIPTORS);

/** A directory that is a symbolic link, or has been exchanged for something else. */
export class ExchangedDirectoryError extends FileChangedError {
  constructor(path: string, problem: string) {
    super(`${path} ${problem}`, { path });
  }
}

/**
 * A directory that is held open: `path()` leads to this one, whatever takes its place. Where a system has no paths of descriptors, each
 * `path()` compares device and inode of all directories down to it with those that were there first.
 */
export class HeldDirectory {
  /** Its path, for people. */
  readonly name: string;
  readonly #above: HeldDirectory | undefined;
  readonly #descriptor: number | undefined;
  readonly #identity: string;
  #isClosed = false;

  private constructor(name: string, above: HeldDirectory | undefined, descriptor?: number) {
    this.name = name;
    this.#above = above;
    this.#descriptor = descriptor;
    this.#identity = descriptor === undefined ? identityOf(name, above === undefined) : "";
  }

  /**
   * Holds a directory. Symbolic links in its path are followed: its user has named it.
   *
   * @param hasDescriptors Whether the system has paths of descriptors, for tests.
   */
  static hold(path: string, hasDescriptors = HAS_DESCRIPTORS): HeldDirectory {
    const name = resolve(path);
    if (!hasDescriptors) return new HeldDirectory(name, undefined);
    return new HeldDirectory(name, undefined, openSync(name, O_PATH | constants.O_DIRECTORY));
  }

  /**
   * Holds a directory in this one.
   *
   * @throws {ExchangedDirectoryError} It is a symbolic link.
   */
  open(name: string): HeldDirectory {
    const path = this.path(name);
    const shown = join(this.name, name);
    if (lstatSync(path).isSymbolicLink()) throw isLink(shown);
    if (this.#descriptor === undefined) return new HeldDirectory(shown, this);
    const flags = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    return new HeldDirectory(shown, this, openSync(path, flags));
  }

  /**
   * The path of a name in it, or its own, for `fs`. Nothing but the last name may be a symbolic link.
   *
   * @throws {ExchangedDirectoryError} Something else is in its place, which Linux does not ask for.
   */
  path(name = ""): string {
    if (this.#descriptor !== undefined) {
      // Its number may be another one's by now.
      if (this.#isClosed) throw new Error(`${this.name} is not held any more`);
      const path = `${DESCRIPTORS}/${this.#descriptor}`;
      return name === "" ? path : `${path}/${name}`;
    }
    this.check();
    return join(this.name, name);
  }

  /**
   * Compares it with what was there first, after something has been done in it.
   *
   * @throws {ExchangedDirectoryError} Something else is in its place.
   */
  check(): void {
    if (this.#descriptor !== undefined) return;
    this.#above?.check();
    if (identityOf(this.name, this.#above === undefined) === this.#identity) return;
    throw new ExchangedDirectoryError(this.name, "was exchanged for another directory meanwhile");
  }

  /** An error of `fs`, with the name of the directory in place of its descriptor. */
  named(error: unknown): unknown {
    if (this.#descriptor === undefined || !(error instanceof Error)) return error;
    const own = `${DESCRIPTORS}/${this.#descriptor}`;
    const withName = (text: string): string =>
      text.replaceAll(`'${own}/`, `'${this.name}/`).replaceAll(`'${own}'`, `'${this.name}'`);
    const message = withName(error.message);
    // Those of others may be read-only.
    if (message === error.message) return error;
    error.message = message;
    const fields = error as { path?: unknown; dest?: unknown };
    for (const field of ["path", "dest"] as const) {
      const value = fields[field];
      if (typeof value === "string") fields[field] = withName(`'${value}'`).slice(1, -1);
    }
    return error;
  }

  close(): void {
    if (this.#descriptor === undefined || this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.#descriptor);
  }
}

/** The directories from a root to the one that was entered last, each held. */
export class HeldPath {
  readonly #root: HeldDirectory;
  readonly #below: { part: string; directory: HeldDirectory }[] = [];

  constructor(root: HeldDirectory) {
    this.#root = root;
  }

  /**
   * Enters a directory below the root, and leaves those that are not on the way to it.
   *
   * @param name Its path from the root, with slashes; empty for the root.
   * @param open Opens one in another, where it is not held yet.
   */
  enter(
    name: string,
    open = (above: HeldDirectory, part: string): HeldDirectory => above.open(part),
  ): HeldDirectory {
    const parts = name === "" ? [] : name.split("/");
    const differs = parts.findIndex((part, index) => this.#below[index]?.part !== part);
    this.#leave(differs === -1 ? parts.length : differs);
    for (const part of parts.slice(this.#below.length)) {
      this.#below.push({ part, directory: open(this.#last, part) });
    }
    return this.#last;
  }

  get #last(): HeldDirectory {
    return this.#below.at(-1)?.directory ?? this.#root;
  }

  /** An error of `fs`, with names in place of descriptors. */
  named(error: unknown): unknown {
    for (const { directory } of this.#below) directory.named(error);
    return this.#root.named(error);
  }

  /** Leaves all but the root. */
  close(): void {
    this.#leave(0);
  }

  #leave(kept: number): void {
    for (const { directory } of this.#below.splice(kept)) directory.close();
  }
}

/** @throws {ExchangedDirectoryError} It is a symbolic link, which only the root may be. */
function identityOf(path: string, isRoot: boolean): string {
  const stats = isRoot ? statSync(path, { bigint: true }) : lstatSync(path, { bigint: true });
  if (stats.isSymbolicLink()) throw isLink(path);
  if (stats.isDirectory()) return `${stats.dev}:${stats.ino}`;
  const error = new Error(`ENOTDIR: not a directory, open '${path}'`);
  throw Object.assign(error, { code: "ENOTDIR", syscall: "open", path });
}

function isLink(path: string): ExchangedDirectoryError {
  const problem = "is a symbolic link: nothing is read or written through it";
  return new ExchangedDirectoryError(path, problem);
}
