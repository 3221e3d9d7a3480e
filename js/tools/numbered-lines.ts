import { firstOf } from "./text.js";

/** The most that is shown of a line, in characters (UTF-16 code units). */
const MAX_LINE_CHARS = 2000;

/** Which lines of a text are shown, and how much of it. */
export interface LineRange {
  /** The first line, counted from 1. */
  first: number;
  /** The last line; there may be fewer. */
  last: number;
  /** The most characters (UTF-16 code units) of all lines with their numbers. */
  budget: number;
}

/**
 * Lines of a text with their numbers, as `cat -n` writes them. The text comes piece by piece; what is kept is the lines that are
 * shown, and the beginning of the line that comes.
 */
export class NumberedLines {
  readonly #range: LineRange;
  readonly #maxLine: number;
  #text = "";
  /** The beginning of the line that comes, and how many characters of it are not kept. */
  #line = "";
  #dropped = 0;
  #hasLine = false;
  #complete = 0;
  #lastShown = 0;
  #isFull = false;

  constructor(range: LineRange) {
    this.#range = range;
    this.#maxLine = maxLineChars(range.budget);
  }

  /** Takes the next piece of the text; false where no more of it is wanted. */
  take(piece: string): boolean {
    let start = 0;
    for (let end; !this.isOver && (end = piece.indexOf("\n", start)) >= 0; start = end + 1) {
      this.#append(piece.slice(start, end));
      this.#endLine();
    }
    if (!this.isOver && start < piece.length) this.#append(piece.slice(start));
    return !this.isOver;
  }

  /** Takes the end of the text; returns whether its last line has no line end. */
  end(): boolean {
    const isOpen = this.#hasLine && !this.isOver;
    if (isOpen) this.#endLine();
    return isOpen;
  }

  /** Whether what comes after is not shown: the range ends here, or the budget. */
  get isOver(): boolean {
    return this.#isFull || this.#complete >= this.#range.last;
  }

  /** Whether there was no room for the line that comes after those that are shown. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** The lines with their numbers. */
  get text(): string {
    return this.#text;
  }

  /** The number of the last line that is shown; 0 where none is. */
  get lastShown(): number {
    return this.#lastShown;
  }

  /** How many lines have come. */
  get count(): number {
    return this.#complete;
  }

  #append(part: string): void {
    this.#hasLine = true;
    if (this.#complete + 1 < this.#range.first) return;
    const kept = firstOf(part, Math.max(this.#maxLine - this.#line.length, 0));
    this.#line += this.#dropped === 0 ? kept : "";
    this.#dropped += this.#dropped === 0 ? part.length - kept.length : part.length;
  }

  #endLine(): void {
    const number = this.#complete + 1;
    if (number >= this.#range.first) {
      const entry = numbered(number, this.#line + omitted(this.#dropped));
      // One line is shown, whatever the budget.
      this.#isFull = this.#lastShown > 0 && this.#text.length + entry.length > this.#range.budget;
      if (this.#isFull) return;
      this.#text += entry;
      this.#lastShown = number;
    }
    this.#complete = number;
    [this.#line, this.#dropped, this.#hasLine] = ["", 0, false];
  }
}

/** A line with its number, as `cat -n` writes it. */
function numbered(number: number, line: string): string {
  return `${String(number).padStart(6)}\t${line}\n`;
}

/** Some lines of a file with their numbers, the first of which is `first`; as many as the budget has room for. */
export function numberedLines(lines: readonly string[], first: number, budget: number): string {
  const maxLine = maxLineChars(budget);
  let text = "";
  for (const [index, line] of lines.entries()) {
    const shown = firstOf(line, maxLine);
    const entry = numbered(first + index, shown + omitted(line.length - shown.length));
    if (index > 0 && text.length + entry.length > budget) break;
    text += entry;
  }
  return text;
}

/** The most that is shown of one line, where there is room for so many characters. */
function maxLineChars(budget: number): number {
  return Math.min(MAX_LINE_CHARS, Math.ceil(budget / 2));
}

function omitted(characters: number): string {
  return characters === 0 ? "" : `[… ${characters} more characters in this line …]`;
}
