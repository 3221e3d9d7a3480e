/**
 * What a terminal acts upon in place of showing it, each as a whole: control strings (ECMA-48, 5.6) that
 * end, control sequences (5.4), other escape sequences (ECMA-35, 13.2).
 */
// No text takes longer than its length: nothing that begins a sequence can stand within one.
export const SEQUENCES =
  /(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])[^\n\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]/g;

/** The beginning of one of them, at the end of a text that may go on. */
export const UNFINISHED_SEQUENCE =
  /(?:(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])[^\n\x07\x1b\x90\x98\x9c-\x9f]*\x1b?|(?:\x1b\[|\x9b)[0-?]*[ -/]*|\x1b[ -/]*)$/;

/** What is left of C0 and C1 (ECMA-48, 5.2 and 5.3) but tabs and line ends, and DEL. */
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/**
 * The text without what is meant for a terminal: colours, cursor movements, titles. A lone carriage return
 * becomes a line end, so that nothing that was drawn over is lost.
 */
export function plainText(text: string): string {
  return text
    .replaceAll(SEQUENCES, "")
    .replaceAll(/\r+\n?/g, (end) => (end.endsWith("\n") ? "\n" : "\n".repeat(end.length)))
    .replaceAll(CONTROLS, "");
}

/** The share of characters that were no UTF-8 from which on a text is none: of random bytes it is one half. */
const MAX_REPLACED = 0.3;

/**
 * Whether output that was decoded is no text: there is a NUL in it, or more than 3 in 10 of its characters stand for bytes
 * that are no UTF-8. It is the rule of Perl's `-B`. A single wrong byte, as of a file name in Latin-1, hides no log from a model.
 */
export function isBinary(output: string): boolean {
  if (output.includes("\0")) return true;
  const replaced = output.match(/\ufffd/g)?.length ?? 0;
  return replaced > output.length * MAX_REPLACED;
}

/** What is said in place of binary output. */
export function binaryText(bytes: number): string {
  return `(binary output: ${bytes} bytes)`;
}

/** How long a name is at most, in characters. */
const MAX_NAME_LENGTH = 80;

/** A name as it stands in a line of a result: nobody's name is to look like another line. */
export function oneLine(name: string): string {
  const line = plainText(name).replaceAll(/\s+/g, " ").trim();
  return line.length > MAX_NAME_LENGTH ? `${firstOf(line, MAX_NAME_LENGTH - 1)}…` : line;
}

/** What stands for the middle that was left out. */
export const CUT_MARK = "\n[… the middle is left out …]\n";

/**
 * A text of at most `budget` characters (UTF-16 code units, at least as many as {@link CUT_MARK} has): the
 * beginning of one text and the end of another, which may be the same. No character is cut in two.
 */
export function cutMiddle(beginning: string, end: string, budget: number): string {
  const room = budget - CUT_MARK.length;
  const head = Math.ceil(room / 2);
  return firstOf(beginning, head) + CUT_MARK + lastOf(end, room - head);
}

/** The last characters of a text, at most so many. */
export function lastOf(text: string, max: number): string {
  const begin = Math.max(text.length - max, 0);
  return text.slice(begin + (isInPair(text, begin) ? 1 : 0));
}

/** The first characters of a text, at most so many. */
export function firstOf(text: string, max: number): string {
  return text.slice(0, max - (isInPair(text, max) ? 1 : 0));
}

/** Whether a surrogate pair is cut there. */
function isInPair(text: string, index: number): boolean {
  const isHigh = /^[\ud800-\udbff]$/.test(text.charAt(index - 1));
  return isHigh && /^[\udc00-\udfff]$/.test(text.charAt(index));
}
