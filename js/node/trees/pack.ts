// A directory of this machine as a tar stream.
import {
  type BigIntStats,
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
} from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";

import { FileChangedError, NotTextError } from "../../core/errors.js";
import type { IsExcluded } from "./exclude.js";
import { END, type EntryHeader, headerOf, paddingOf } from "./header.js";
import { ExchangedDirectoryError, type HeldDirectory, HeldPath } from "./held-directory.js";

/** Files up to this length are read at once, without Node's threads, in bytes. */
const SMALL = 64 * 1024;

/** How much is handed on at once, in bytes. */
const CHUNK = 64 * 1024;

/** What is told of each file that has been packed. */
export interface PackedFile {
  bytes: number;
  isFile: boolean;
}

/** An entry, with what it holds: bytes if that is small, else the descriptor of the file, which is closed when it has been read. */
interface Entry {
  header: EntryHeader;
  content: Buffer | number;
}

/** Opens no link, and waits for nobody where a pipe has taken the place of a file. Windows has neither. */
const READ =
  constants.O_RDONLY |
  ((constants.O_NOFOLLOW as number | undefined) ?? 0) |
  ((constants.O_NONBLOCK as number | undefined) ?? 0);

/**
 * The tar stream of what is in a directory, in order of names: files, directories and symbolic links with their modes and times.
 * What is none of these, such as a socket, is left out. Nothing outside of the directory is read, whatever takes the place of one in it. It reads as fast as it is read, and holds no more than 1 MiB.
 *
 * @param packed Called with what has been packed.
 * @param failed Called with what has gone wrong here, which the stream's reader is told as well.
 */
export function packTree(
  root: HeldDirectory,
  isExcluded: IsExcluded,
  packed: (file: PackedFile) => void,
  failed: (error: unknown) => void = () => undefined,
): Readable {
  const chunks = chunksOf(root, isExcluded, packed);
  // It has no `throw`: what its reader destroys the stream with is nothing that has gone wrong here.
  const iterator = {
    next: () =>
      chunks.next().catch((error: unknown) => {
        failed(error);
        throw error;
      }),
    return: () => chunks.return(undefined),
  };
  const source = { [Symbol.asyncIterator]: () => iterator };
  return Readable.from(source, { objectMode: false, highWaterMark: CHUNK });
}

/** Headers and small files are put together: each would be a write of its own. */
async function* chunksOf(
  root: HeldDirectory,
  isExcluded: IsExcluded,
  packed: (file: PackedFile) => void,
): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let length = 0;
  const add = (part: Buffer): void => {
    parts.push(part);
    length += part.length;
  };
  const takeAll = (): Buffer => {
    const all = Buffer.concat(parts, length);
    [parts, length] = [[], 0];
    return all;
  };
  const path = new HeldPath(root);
  try {
    for (const [below, own] of walk(path, "", isExcluded)) {
      const directory = path.enter(below);
      const name = below === "" ? own : `${below}/${own}`;
      const entry = entryOf(directory, own, name);
      directory.check();
      if (entry === undefined) continue;
      const { header, content } = entry;
      add(headerOf(header));
      if (typeof content === "number") {
        const source = createReadStream("", { ...CHUNKS, fd: content, end: header.size - 1 });
        try {
          yield takeAll();
          yield* contentOf(source, header.size, join(root.name, name));
        } finally {
          source.destroy();
        }
      } else {
        add(content);
      }
      add(paddingOf(header.size));
      packed({ bytes: header.size, isFile: header.type === "file" });
      if (length >= CHUNK) yield takeAll();
    }
    add(END);
    yield takeAll();
  } catch (error) {
    throw path.named(error);
  } finally {
    path.close();
  }
}

/** How a large file is read. */
const CHUNKS = { start: 0, highWaterMark: 256 * 1024 };

/** What a large file holds: not more than its header says, should it grow meanwhile. */
async function* contentOf(
  source: AsyncIterable<Buffer>,
  size: number,
  name: string,
): AsyncGenerator<Buffer> {
  let left = size;
  for await (const chunk of source) {
    left -= chunk.length;
    yield chunk;
  }
  if (left > 0)
    throw new FileChangedError(`${name} became shorter while it was read`, { path: name });
}

/** What is below a directory, each as the directory that it is in and its name there, before what is in it. */
function* walk(
  path: HeldPath,
  below: string,
  isExcluded: IsExcluded,
): Generator<[below: string, name: string]> {
  const names: [name: string, isDirectory: boolean][] = [];
  const directory = path.enter(below);
  const entries = readdirSync(directory.path(), { encoding: "buffer", withFileTypes: true });
  directory.check();
  for (const entry of entries) {
    // Types of Node.js 20 say that it is text.
    const raw = entry.name as unknown as Buffer;
    const name = textOf(raw, `${join(directory.name, raw.toString())}: its name`);
    names.push([name, entry.isDirectory()]);
  }
  names.sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [own, isDirectory] of names) {
    const name = below === "" ? own : `${below}/${own}`;
    if (isExcluded(name)) continue;
    yield [below, own];
    if (isDirectory) yield* walk(path, name, isExcluded);
  }
}

function entryOf(directory: HeldDirectory, own: string, name: string): Entry | undefined {
  const path = directory.path(own);
  const stats = lstatSync(path, { bigint: true });
  const header = { ...headerFields(stats), name, type: "file", size: 0, linkTarget: "" } as const;
  if (stats.isSymbolicLink()) {
    const linkTarget = linkTargetOf(path, join(directory.name, own));
    return { header: { ...header, type: "symlink", linkTarget }, content: NOTHING };
  }
  if (stats.isDirectory()) {
    return { header: { ...header, type: "directory", name: `${name}/` }, content: NOTHING };
  }
  if (!stats.isFile()) return undefined;
  const file = openSync(path, READ);
  let isRead = true;
  try {
    const opened = fstatSync(file, { bigint: true });
    checkSame(stats, opened, join(directory.name, own));
    const content = opened.size <= SMALL ? readFileSync(file) : file;
    isRead = content !== file;
    const size = content === file ? Number(opened.size) : (content as Buffer).length;
    return { header: { ...header, ...headerFields(opened), size }, content };
  } finally {
    if (isRead) closeSync(file);
  }
}

function headerFields({ mode, mtimeNs }: BigIntStats): Pick<EntryHeader, "mode" | "mtimeNs"> {
  return { mode: Number(mode & 0o7777n), mtimeNs };
}

/**
 * @throws {ExchangedDirectoryError} What was opened is no file, or another one where the system may have followed a link to it. An
 * editor may put a new file in the place of the old one at any time.
 */
function checkSame(seen: BigIntStats, opened: BigIntStats, name: string): void {
  const mayBeLinked = (constants.O_NOFOLLOW as number | undefined) === undefined;
  const isSame = seen.dev === opened.dev && seen.ino === opened.ino;
  if (opened.isFile() && (isSame || !mayBeLinked)) return;
  throw new ExchangedDirectoryError(name, "was exchanged for something else while it was read");
}

const NOTHING = Buffer.alloc(0);

function linkTargetOf(path: string, shown: string): string {
  return textOf(readlinkSync(path, { encoding: "buffer" }), `${shown}: the target of the link`);
}

/** @throws It is not UTF-8. */
function textOf(raw: Buffer, what: string): string {
  const text = raw.toString();
  if (Buffer.from(text).equals(raw)) return text;
  throw new NotTextError(`${what} is not UTF-8, which can't be packed`, { path: text });
}
