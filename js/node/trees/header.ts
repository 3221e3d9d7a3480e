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

/** How many bytes a name, or the target of a link, may have in a header. */
const MAX_NAME = 100;

const TYPES = { file: "0", directory: "5", symlink: "2" };

/** Where what is in a header, and how many digits numbers have (POSIX, pax, "ustar Interchange Format"). */
const [MODE, OWNER, GROUP, SIZE, MTIME] = [100, 108, 116, 124, 136] as const;
const [CHECKSUM, TYPE, LINK, MAGIC] = [148, 156, 157, 257] as const;

/** The header of an entry, with records before it of what it has no room for. */
export function headerOf(entry: EntryHeader): Buffer {
  const { name, mode, mtimeNs, size, linkTarget } = entry;
  const header = { name, type: TYPES[entry.type], mode, size, linkTarget, seconds: 0n };
  if (mtimeNs > 0n) header.seconds = mtimeNs / SECOND;
  if (`${name}${linkTarget}`.includes("\n")) {
    const records = [
      gnuRecord("L", name),
      ...(linkTarget === "" ? [] : [gnuRecord("K", linkTarget)]),
    ];
    return Buffer.concat([
      ...records,
      ustar({ ...header, name: "long", linkTarget: linkTarget && "long" }),
    ]);
  }
  let records = "";
  if (!isShort(name)) records += paxRecord("path", name);
  if (!isShort(linkTarget)) records += paxRecord("linkpath", linkTarget);
  // Whole seconds are all that the header has room for.
  if (mtimeNs < 0n || mtimeNs % SECOND !== 0n) records += paxRecord("mtime", secondsOf(mtimeNs));
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
  seconds: bigint;
  linkTarget: string;
  /** That of POSIX, where it is not given. */
  magic?: string;
}

function ustar({
  name,
  type,
  mode,
  size,
  seconds,
  linkTarget,
  magic = "ustar\0" + "00",
}: Ustar): Buffer {
  const header = Buffer.alloc(BLOCK);
  // What is longer is in a record.
  header.write(name, 0, MAX_NAME);
  header.write(octal(mode, 7), MODE);
  header.write(octal(0, 7), OWNER);
  header.write(octal(0, 7), GROUP);
  writeSize(header, size);
  header.write(octal(Number(seconds), 11), MTIME);
  header.write(type, TYPE);
  header.write(linkTarget, LINK, MAX_NAME);
  header.write(magic, MAGIC);
  // For the checksum its own field has spaces.
  let sum = 8 * 0x20;
  for (let at = 0; at < BLOCK; at += 1) sum += header[at] ?? 0;
  header.write(`${octal(sum, 6)}\0 `, CHECKSUM);
  return header;
}

/** From 8 GiB on there are too few digits: GNU's tar has such sizes in binary, which others read as well. */
function writeSize(header: Buffer, size: number): void {
  if (size < 8 ** 11) {
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

/** `LENGTH KEY=VALUE` and a newline, where the length is that of all of it (POSIX, pax, "pax Extended Header"). */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + 1;
  // With its own digits.
  while (length !== rest + String(length).length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

/**
 * A record of GNU's tar with the name (L), or the link's target (K), of the entry behind it. It takes any name: the records of pax,
 * which the others get, end at a newline for some that read them.
 */
function gnuRecord(type: "L" | "K", name: string): Buffer {
  const header = { name: "././@LongLink", type, mode: 0o644, seconds: 0n, linkTarget: "" };
  return withContent({ ...header, magic: "ustar  " }, `${name}\0`);
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
