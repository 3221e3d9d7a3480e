// A directory of this machine as a tar stream.
import { createReadStream, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";

import type { IsExcluded } from "./exclude.js";
import { END, type EntryHeader, headerOf, paddingOf } from "./header.js";

/** Files up to this length are read at once, without Node's threads, in bytes. */
const SMALL = 64 * 1024;

/** How much is handed on at once, in bytes. */
const CHUNK = 64 * 1024;

/** What is told of each file that has been packed. */
export interface PackedFile {
  bytes: number;
  isFile: boolean;
}

/** An entry, with what it holds if that is small. */
interface Entry {
  header: EntryHeader;
  content: Buffer | undefined;
}

/**
 * The tar stream of what is in a directory, in order of names: files, directories and symbolic links with their modes and times.
 * What is none of these, such as a socket, is left out. It reads as fast as it is read, and holds no more than 1 MiB.
 *
 * @param packed Called with what has been packed.
 * @param failed Called with what has gone wrong here, which the stream's reader is told as well.
 */
export function packTree(
  root: string,
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
  root: string,
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
  for (const name of walk(root, "", isExcluded)) {
    const path = join(root, name);
    const entry = entryOf(path, name);
    if (entry === undefined) continue;
    const { header, content } = entry;
    add(headerOf(header));
    if (content !== undefined) {
      add(content);
    } else {
      yield takeAll();
      yield* contentOf(path, header.size);
    }
    add(paddingOf(header.size));
    packed({ bytes: header.size, isFile: header.type === "file" });
    if (length >= CHUNK) yield takeAll();
  }
  add(END);
  yield takeAll();
}

/** What a large file holds: not more than its header says, should it grow meanwhile. */
async function* contentOf(path: string, size: number): AsyncGenerator<Buffer> {
  const source = createReadStream(path, { end: size - 1, highWaterMark: 256 * 1024 });
  let left = size;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    left -= chunk.length;
    yield chunk;
  }
  if (left > 0) throw new Error(`${path}: it became shorter while it was read`);
}

/** The names of what is below a directory, each before what is in it. */
function* walk(root: string, below: string, isExcluded: IsExcluded): Generator<string> {
  const names: [name: string, isDirectory: boolean][] = [];
  const entries = readdirSync(join(root, below), { encoding: "buffer", withFileTypes: true });
  for (const entry of entries) {
    // Types of Node.js 20 say that it is text.
    const raw = entry.name as unknown as Buffer;
    const name = textOf(raw, `${join(root, below, raw.toString())}: its name`);
    names.push([below === "" ? name : `${below}/${name}`, entry.isDirectory()]);
  }
  names.sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, isDirectory] of names) {
    if (isExcluded(name)) continue;
    yield name;
    if (isDirectory) yield* walk(root, name, isExcluded);
  }
}

function entryOf(path: string, name: string): Entry | undefined {
  const stats = lstatSync(path, { bigint: true });
  const header = {
    name,
    type: "file",
    mode: Number(stats.mode & 0o7777n),
    mtimeNs: stats.mtimeNs,
    size: 0,
    linkTarget: "",
  } as const;
  if (stats.isSymbolicLink()) {
    return {
      header: { ...header, type: "symlink", linkTarget: linkTargetOf(path) },
      content: NOTHING,
    };
  }
  if (stats.isDirectory()) {
    return { header: { ...header, type: "directory", name: `${name}/` }, content: NOTHING };
  }
  if (!stats.isFile()) return undefined;
  const content = stats.size <= SMALL ? readFileSync(path) : undefined;
  return { header: { ...header, size: content?.length ?? Number(stats.size) }, content };
}

const NOTHING = Buffer.alloc(0);

function linkTargetOf(path: string): string {
  return textOf(readlinkSync(path, { encoding: "buffer" }), `${path}: the target of the link`);
}

/** @throws It is not UTF-8. */
function textOf(raw: Buffer, what: string): string {
  const text = raw.toString();
  if (Buffer.from(text).equals(raw)) return text;
  throw new Error(`${what} is not UTF-8, which can't be packed`);
}
