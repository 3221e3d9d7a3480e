/** What is said of an entry of a tar stream. */
export interface EntryHeader {
  /** With slashes; that of a directory ends with one. */
  name: string;
  type: "file" | "directory" | "symlink";
  /** Permission bits. */
  mode: number;
  /** When it was changed, in nanoseconds since 1970. */
  mtimeNs: bigint;
  /** How many bytes of content follow. */
  size: number;
  /** Of a symbolic link; empty for others. */
  linkTarget: string;
}

/** The size of a block: what is shorter is padded. */
export const BLOCK = 512;

const SECOND = 1_000_000_000n;

/** The first number that a header has no digits for, where it has eleven. */
const LARGE = 8 ** 11;

/** How many bytes a name, or the target of a link, may have in a header. */
const MAX_NAME = 100;

const TYPES = { file: "0", directory: "5", symlink: "2" };

/** Where what is in a header, and how many digits numbers have (POSIX, pax, "ustar Interchange Format"). */
const [MODE, OWNER, GROUP, SIZE, MTIME] = [100, 108, 116, 124, 136] as const;
const [CHECKSUM, TYPE, LINK, MAGIC] = [148, 156, 157, 257] as const;

/** The header of an entry, with records before it of what it has no room for. */
export function headerOf(entry: EntryHeader): Buffer {
  const { name, mode, mtimeNs, size, linkTarget } = entry;
  // Whole seconds from 1970 on are all that a header has room for, up to the year 2242.
  const seconds = Math.min(Math.max(Number(mtimeNs / SECOND), 0), LARGE - 1);
  const header = { name, type: TYPES[entry.type], mode, size, linkTarget, seconds };
  let records = "";
  if (!isShort(name)) records += paxRecord("path", name);
  if (!isShort(linkTarget)) records += paxRecord("linkpath", linkTarget);
  if (mtimeNs !== BigInt(seconds) * SECOND) records += paxRecord("mtime", secondsOf(mtimeNs));
  if (records === "") return ustar(header);
  const extended = { ...header, name: "PaxHeader", type: "x", linkTarget: "" };
  return Buffer.concat([withContent(extended, records), ustar(header)]);
}

/** What fills up the last block of so many bytes. */
export function paddingOf(size: number): Buffer {
  return ZEROS.subarray(0, (BLOCK - (size % BLOCK)) % BLOCK);
}

/** The end of a tar stream. */
export const END = Buffer.alloc(2 * BLOCK);

const ZEROS = Buffer.alloc(BLOCK);

interface Ustar {
  name: string;
  type: string;
  mode: number;
  size: number;
  seconds: number;
  linkTarget: string;
}

function ustar({ name, type, mode, size, seconds, linkTarget }: Ustar): Buffer {
  const header = Buffer.alloc(BLOCK);
  // What is longer is in a record.
  header.write(name, 0, MAX_NAME);
  header.write(octal(mode, 7), MODE);
  header.write(octal(0, 7), OWNER);
  header.write(octal(0, 7), GROUP);
  writeSize(header, size);
  header.write(octal(seconds, 11), MTIME);
  header.write(type, TYPE);
  header.write(linkTarget, LINK, MAX_NAME);
  header.write("ustar\0" + "00", MAGIC);
  // For the checksum its own field has spaces.
  let sum = 8 * 0x20;
  for (let at = 0; at < BLOCK; at += 1) sum += header[at] ?? 0;
  header.write(`${octal(sum, 6)}\0 `, CHECKSUM);
  return header;
}

/** From 8 GiB on there are too few digits: GNU's tar has such sizes in binary, which others read as well. */
function writeSize(header: Buffer, size: number): void {
  if (size < LARGE) {
    header.write(octal(size, 11), SIZE);
    return;
  }
  header[SIZE] = 0x80;
  header.writeBigUInt64BE(BigInt(size), SIZE + 4);
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

function isShort(name: string): boolean {
  // Of other characters a header does not say what they are.
  return name.length <= MAX_NAME && /^[\x20-\x7e]*$/.test(name);
}

/**
 * `LENGTH KEY=VALUE` and a newline, where the length is that of all of it (POSIX, pax, "pax Extended Header"): the value may have
 * newlines, too.
 */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + 1;
  // With its own digits.
  while (length !== rest + String(length).length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

function withContent(header: Omit<Ustar, "size">, text: string): Buffer {
  const content = Buffer.from(text);
  const size = content.length;
  return Buffer.concat([ustar({ ...header, size }), content, paddingOf(size)]);
}

/** With a fraction. Before 1970 both count backwards. */
function secondsOf(nanoseconds: bigint): string {
  const [sign, amount] = nanoseconds < 0n ? ["-", -nanoseconds] : ["", nanoseconds];
  return `${sign}${amount / SECOND}.${String(amount % SECOND).padStart(9, "0")}`;
}
