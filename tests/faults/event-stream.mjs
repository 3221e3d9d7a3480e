// @ts-check
/** Finds the events in the bytes of an output's stream: Server-Sent Events, or binary frames. */

const FRAMES = "application/vnd.sandpipe.output";

/**
 * @typedef {AsyncIterable<Buffer> & { headers?: import("node:http").IncomingHttpHeaders }} Source
 * the body of an answer, and its headers
 *
 * @typedef {object} WholeEvent
 * @property {Buffer} bytes
 * @property {number} textStart where its text begins, or a later place before it
 * @property {boolean} isOutput it is no mere sign of life
 * @property {boolean} hasExitCode
 *
 * @typedef {object} Format
 * @property {(bytes: Buffer, from: number) => number} end where the first event ends that begins at `from`; -1 if its end is not there
 * @property {(bytes: Buffer) => WholeEvent} read
 */

const END = Buffer.from("\n\n");
const DATA = Buffer.from("data:");
/** In the output itself, a quote has a backslash before it. */
const EXIT_CODE = Buffer.from(',"exitCode":');

/** @type {Format} */
const SERVER_SENT = {
  end(bytes, from) {
    const end = bytes.indexOf(END, from);
    return end === -1 ? -1 : end + END.length;
  },
  read: (bytes) => ({
    bytes,
    textStart: 0,
    isOutput: bytes.includes(DATA),
    hasExitCode: bytes.includes(EXIT_CODE),
  }),
};

const HEADER_LENGTH = 21;
const EXIT = 3;
const PING = 5;
/** Types from here on belong to the frame that follows: the first bytes of a character that was cut. */
const UNFINISHED = 0x10;

/** @type {Format} */
const BINARY = {
  end(bytes, from) {
    let at = from;
    let type;
    do {
      if (bytes.length < at + HEADER_LENGTH) return -1;
      type = bytes.readUInt8(at + 4);
      at += HEADER_LENGTH + bytes.readUInt32LE(at);
    } while (type >= UNFINISHED);
    return at <= bytes.length ? at : -1;
  },
  read(bytes) {
    let last = 0;
    while (bytes.readUInt8(last + 4) >= UNFINISHED)
      last += HEADER_LENGTH + bytes.readUInt32LE(last);
    const type = bytes.readUInt8(last + 4);
    const textStart = last + HEADER_LENGTH;
    return { bytes, textStart, isOutput: type !== PING, hasExitCode: type === EXIT };
  },
};

/**
 * The same bytes in other pieces: one for each event or sign of life. What comes after the last whole one
 * is a piece too, and none of the output.
 *
 * @param {Source} source
 * @returns {AsyncGenerator<WholeEvent, void>}
 */
export async function* wholeEvents(source) {
  const format = source.headers?.["content-type"] === FRAMES ? BINARY : SERVER_SENT;
  /** @type {Buffer} */
  let rest = Buffer.alloc(0);
  for await (const chunk of source) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end; (end = format.end(bytes, start)) !== -1; start = end) {
      yield format.read(bytes.subarray(start, end));
    }
    rest = bytes.subarray(start);
  }
  if (rest.length > 0) yield { bytes: rest, textStart: 0, isOutput: false, hasExitCode: false };
}

/**
 * Where a character of several bytes goes on, at `from` or later.
 *
 * @param {WholeEvent} event
 * @param {number} from
 * @returns {number | undefined}
 */
export function insideCharacter({ bytes, textStart }, from) {
  const start = Math.max(from, textStart);
  // UTF-8: bytes after a character's first one are 10xxxxxx.
  const index = bytes.subarray(start).findIndex((byte) => (byte & 0xc0) === 0x80);
  return index === -1 ? undefined : start + index;
}
