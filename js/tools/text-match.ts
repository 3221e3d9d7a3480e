// Where a text stands in a file, and what the file is with another in its place. Pure.

/** Where a text stands in another, as indices in order; places that overlap count once. `wanted` is not empty. */
export function placesOf(wanted: string, text: string): number[] {
  const places = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
    places.push(at);
  }
  return places;
}

/** A text with another in place of what is `length` long at each of the places. */
export function replacedAt(
  text: string,
  places: readonly number[],
  length: number,
  replacement: string,
): string {
  const parts = [];
  let from = 0;
  for (const place of places) {
    parts.push(text.slice(from, place), replacement);
    from = place + length;
  }
  return parts.join("") + text.slice(from);
}

/** The numbers of the lines, counted from 1, in which these places are; they are in order. */
export function lineNumbersOf(text: string, places: readonly number[]): number[] {
  let [line, from] = [1, 0];
  return places.map((place) => {
    for (let end; (end = text.indexOf("\n", from)) >= 0 && end < place; from = end + 1) line += 1;
    return line;
  });
}

/**
 * A text with the line ends of a file: where every line of that ends with CRLF, so do those of the text. A model writes `\n`, and
 * does not see what a file has.
 */
export function withLineEndsOf(file: string, text: string): string {
  const hasLf = /(?:^|[^\r])\n/.test(file);
  return hasLf || !file.includes("\r\n") ? text : text.replaceAll(/\r?\n/g, "\r\n");
}

/** The lines of a text, without their ends. */
export function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/);
  // What follows the last line end is no line.
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
