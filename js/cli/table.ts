import stringWidth from "string-width";

import { escaped } from "./format.js";

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
    all.reduce((most, row) => Math.max(most, stringWidth(row[index] ?? "")), 0),
  );
  const lines = all.map((row, line) => {
    let left = width ?? Infinity;
    const cells = row.map((text, index) => {
      // What is behind the last one would only make the line longer.
      const space = index === row.length - 1 ? 0 : (widths[index] ?? 0) - stringWidth(text);
      const gap = index === 0 ? "" : GAP;
      const cell = cutTo(gap + text + " ".repeat(space), left);
      left -= stringWidth(cell);
      const item = items[line - 1];
      const shade = item === undefined ? undefined : columns[index]?.colour?.(item);
      return colour && shade !== undefined ? `\x1b[${shade}m${cell}\x1b[0m` : cell;
    });
    return cells.join("").trimEnd();
  });
  return lines.map((line) => `${line}\n`).join("");
}

/** What is one character for its reader. */
const GRAPHEMES = new Intl.Segmenter();

/** A text in at most so many columns; what was cut off leaves an ellipsis. */
function cutTo(text: string, max: number): string {
  if (stringWidth(text) <= max) return text;
  let [kept, left] = ["", max - 1];
  for (const { segment } of GRAPHEMES.segment(text)) {
    left -= stringWidth(segment);
    if (left < 0) break;
    kept += segment;
  }
  return max > 0 ? `${kept}…` : "";
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
