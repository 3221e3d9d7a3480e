// A directory of this machine as a tar stream. What is small is read without Node's threads: 10,000 small files take half the time.
import {
  type BigIntStats,
  createReadStream,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
} from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import type { Pack } from "tar-stream";

import type { IsExcluded } from "./exclude.js";
import { pack } from "./tar.js";

/** Files up to this length are read at once, in bytes. */
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
  /** Relative to the directory, with slashes. */
  name: string;
  stats: BigIntStats;
  content: Buffer | undefined;
  linkTarget: string | undefined;
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
  const chunks = tarOf((stream) => fill(stream, root, isExcluded, packed), failed);
  return Readable.from(chunks, { objectMode: false, highWaterMark: CHUNK });
}

/**
 * The chunks of a tar stream that is filled as it is read. Headers come one by one, and each would be a write of its own: they are put
 * together.
 */
async function* tarOf(
  filled: (stream: Pack) => Promise<void>,
  failed: (error: unknown) => void,
): AsyncGenerator<Buffer> {
  const stream = pack();
  // Whoever reads it is told, once it is read.
  stream.on("error", () => undefined);
  const source = (stream as unknown as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  let isLeft = false;
  const filling = filled(stream).then(
    () => {
      stream.finalize();
    },
    (error: unknown) => {
      // Where nobody reads any more, that is all that went wrong.
      if (!isLeft) failed(error);
      stream.destroy(error as Error);
    },
  );
  try {
    let chunks: Uint8Array[] = [];
    let length = 0;
    for (let next; !(next = await source.next()).done;) {
      chunks.push(next.value);
      length += next.value.length;
      if (length < CHUNK) continue;
      yield Buffer.concat(chunks);
      [chunks, length] = [[], 0];
    }
    if (length > 0) yield Buffer.concat(chunks);
  } finally {
    isLeft = true;
    stream.destroy();
    await filling;
  }
}

async function fill(
  stream: Pack,
  root: string,
  isExcluded: IsExcluded,
  packed: (file: PackedFile) => void,
): Promise<void> {
  for (const name of walk(root, "", isExcluded)) {
    const entry = entryOf(root, name);
    if (entry === undefined) continue;
    await add(stream, join(root, entry.name), entry);
    const isFile = entry.stats.isFile();
    packed({ bytes: isFile ? Number(entry.stats.size) : 0, isFile });
  }
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

function entryOf(root: string, name: string): Entry | undefined {
  const path = join(root, name);
  const stats = lstatSync(path, { bigint: true });
  if (stats.isSymbolicLink()) {
    return { name, stats, content: undefined, linkTarget: linkTargetOf(path) };
  }
  if (stats.isDirectory()) return { name, stats, content: undefined, linkTarget: undefined };
  if (!stats.isFile()) return undefined;
  const content = stats.size <= SMALL ? readFileSync(path) : undefined;
  return { name, stats, content, linkTarget: undefined };
}

function linkTargetOf(path: string): string {
  return textOf(readlinkSync(path, { encoding: "buffer" }), `${path}: the target of the link`);
}

/** @throws It is not UTF-8. */
function textOf(raw: Buffer, what: string): string {
  const text = raw.toString();
  if (Buffer.from(text).equals(raw)) return text;
  throw new Error(`${what} is not UTF-8, which can't be packed`);
}

async function add(
  stream: Pack,
  path: string,
  { name, stats, content, linkTarget }: Entry,
): Promise<void> {
  const type = stats.isDirectory() ? "directory" : stats.isSymbolicLink() ? "symlink" : "file";
  const fullName = type === "directory" ? `${name}/` : name;
  const hasNewline = `${fullName}${linkTarget ?? ""}`.includes("\n");
  if (hasNewline) {
    stream.push(gnuRecord("L", fullName));
    if (linkTarget !== undefined) stream.push(gnuRecord("K", linkTarget));
  }
  const header = {
    name: hasNewline ? "long" : fullName,
    type,
    mode: Number(stats.mode & 0o7777n),
    mtime: new Date(Number(stats.mtimeMs)),
    // Whole seconds are all that the header has room for (POSIX pax, "mtime").
    ...(hasNewline ? {} : { pax: { mtime: secondsOf(stats.mtimeNs) } }),
    size: content?.length ?? (type === "file" ? Number(stats.size) : 0),
    ...(linkTarget === undefined ? {} : { linkname: hasNewline ? "long" : linkTarget }),
  } as const;
  if (type !== "file" || content !== undefined) {
    await new Promise<void>((resolve, reject) => {
      stream.entry(header, content ?? Buffer.alloc(0), (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
    return;
  }
  const entry = stream.entry(header);
  // Not more than the header says, should it grow meanwhile.
  const source = createReadStream(path, { end: header.size - 1, highWaterMark: 256 * 1024 });
  try {
    await pipeline(source, entry as unknown as NodeJS.WritableStream);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const changed = reason === "Size mismatch" ? "it became shorter while it was read" : reason;
    throw new Error(`${path}: ${changed}`, { cause });
  }
}

const BLOCK = 512;

/**
 * A record of GNU's tar with the name (L), or the link's target (K), of the entry behind it. It takes any name: the records of pax,
 * which the others get, end at a newline for some that read them.
 */
function gnuRecord(type: "L" | "K", name: string): Buffer {
  const content = Buffer.from(`${name}\0`);
  const header = Buffer.alloc(BLOCK);
  header.write("././@LongLink");
  const octal = (value: number, digits: number, at: number): void => {
    header.write(value.toString(8).padStart(digits, "0"), at);
  };
  // Mode, owner, group, size, time.
  octal(0o644, 7, 100);
  octal(0, 7, 108);
  octal(0, 7, 116);
  octal(content.length, 11, 124);
  octal(0, 11, 136);
  // For the checksum its own field has spaces.
  header.fill(" ", 148, 156);
  header.write(type, 156);
  header.write("ustar  ", 257);
  const sum = header.reduce((all, byte) => all + byte, 0);
  octal(sum, 6, 148);
  header[154] = 0;
  const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
  return Buffer.concat([header, content, padding]);
}

function secondsOf(nanoseconds: bigint): string {
  const fraction = String(nanoseconds % 1_000_000_000n).padStart(9, "0");
  return `${nanoseconds / 1_000_000_000n}.${fraction}`;
}
