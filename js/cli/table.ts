import { escaped } from "./print.js";

/** A column of a table. */
export interface Column<T> {
  readonly title: string;
  text(item: T): string;
  /** Its colour on a screen that has some. */
  colour?(item: T): Colour | undefined;
}

/** SGR parameters (ECMA-48, 8.3.117). */
export type Colour = "31" | "32" | "33";

/** Where a table is shown. */
export interface Screen {
  /** How many columns a line has; undefined: any number. */
  readonly width: number | undefined;
  readonly colour: boolean;
}

/** What stdout is. Colour is for terminals alone, and not if NO_COLOR says so (no-color.org). */
export function screenOf({ isTTY, columns }: NodeJS.WriteStream): Screen {
  const { NO_COLOR: noColour = "", TERM: kind } = process.env;
  const width = isTTY && columns > 0 ? columns : undefined;
  return { width, colour: isTTY && noColour === "" && kind !== "dumb" };
}

/** The space between columns. */
const GAP = "  ";

/** A table with a line of titles, its columns aligned. Control characters are shown escaped. */
export function table<T>(
  columns: readonly Column<T>[],
  items: readonly T[],
  { width, colour }: Screen,
): string {
  const rows = items.map((item) => columns.map((column) => escaped(column.text(item))));
  const all = [columns.map(({ title }) => title), ...rows];
  const widths = columns.map((_, index) =>
    // Not as the arguments of one call: there may be very many rows.
    all.reduce((most, row) => Math.max(most, widthOf(row[index] ?? "")), 0),
  );
  const lines = all.map((row, line) => {
    let left = width ?? Infinity;
    const cells = row.map((text, index) => {
      // What is behind the last one would only make the line longer.
      const space = index === row.length - 1 ? 0 : (widths[index] ?? 0) - widthOf(text);
      const gap = index === 0 ? "" : GAP;
      const cell = cutTo(gap + text + " ".repeat(space), left);
      left -= widthOf(cell);
      const item = items[line - 1];
      const shade = item === undefined ? undefined : columns[index]?.colour?.(item);
      return colour && shade !== undefined ? `\x1b[${shade}m${cell}\x1b[0m` : cell;
    });
    return cells.join("").trimEnd();
  });
  return lines.map((line) => `${line}\n`).join("");
}

/** What takes no column: marks and Hangul that go on the character before, and what only formats. */
const NONE = /^[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff\ud7b0-\ud7ff]$/u;

/** What takes two columns: wide and full-width characters (Unicode Standard Annex 11), and emoji. */
const TWO =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]$/u;

/** How many columns of a terminal a text takes. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += columns(character);
  return width;
}

/** A text in at most so many columns; what was cut off leaves an ellipsis. */
function cutTo(text: string, max: number): string {
  if (widthOf(text) <= max) return text;
  let [kept, left] = ["", max - 1];
  for (const character of text) {
    left -= columns(character);
    if (left < 0) break;
    kept += character;
  }
  return max > 0 ? `${kept}…` : "";
}

function columns(character: string): 0 | 1 | 2 {
  // Most are ASCII.
  if (character <= "~") return 1;
  if (NONE.test(character)) return 0;
  return TWO.test(character) ? 2 : 1;
}

/** How long ago something was, in its largest unit: `5s`, `3m`, `2h`, `4d`. */
export function age(since: Date, now: Date): string {
  // Another machine's clock may be ahead.
  const seconds = Math.max(0, Math.floor((now.getTime() - since.getTime()) / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}
