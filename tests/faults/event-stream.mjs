// @ts-check
/** Finds the events in the bytes of a stream of output, which an agent ends with LF LF. */

const END = Buffer.from("\n\n");
const DATA = Buffer.from("data:");
/** In the output itself, a quote has a backslash before it. */
const EXIT_CODE = Buffer.from(',"exitCode":');

/**
 * The same bytes in other pieces: one for each event or comment. What comes after the last whole one
 * is a piece too.
 *
 * @param {AsyncIterable<Buffer>} source
 * @returns {AsyncGenerator<Buffer, void>}
 */
export async function* wholeEvents(source) {
  /** @type {Buffer} */
  let rest = Buffer.alloc(0);
  for await (const chunk of source) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    // An end may be split over two chunks.
    let end = bytes.indexOf(END, Math.max(0, rest.length - 1));
    while (end !== -1) {
      yield bytes.subarray(start, end + END.length);
      start = end + END.length;
      end = bytes.indexOf(END, start);
    }
    rest = bytes.subarray(start);
  }
  if (rest.length > 0) yield rest;
}

/** @param {Buffer} event */
export function isComment(event) {
  return !event.includes(DATA);
}

/** @param {Buffer} event */
export function hasExitCode(event) {
  return event.includes(EXIT_CODE);
}

/**
 * Where a character of several bytes goes on, at `from` or later.
 *
 * @param {Buffer} event
 * @param {number} from
 * @returns {number | undefined}
 */
export function insideCharacter(event, from) {
  // UTF-8: bytes after a character's first one are 10xxxxxx.
  const index = event.subarray(from).findIndex((byte) => (byte & 0xc0) === 0x80);
  return index === -1 ? undefined : from + index;
}
