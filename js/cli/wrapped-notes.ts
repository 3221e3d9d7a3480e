/**
 * Fits the notes of a command's help to a width. A line that begins with two spaces is an item of two columns, whose second one
 * begins after two spaces more; what is indented deeper continues it.
 */
export function wrappedNotes(notes: string, width: number): string {
  const joined = notes
    .trim()
    // Lines of one paragraph, or of one item.
    .replaceAll(/(\S)\n {3,}(?=\S)/g, "$1 ")
    .replaceAll(/(\S)\n(?=\S)/g, "$1 ");
  return joined
    .split("\n")
    .map((line) => {
      const hang = /^ {2}\S.*? {2,}(?=\S)/.exec(line)?.[0].length ?? line.search(/\S|$/);
      return wrapped(line, width, hang);
    })
    .join("\n");
}

/** A line as lines of a width at most, those after the first one indented. */
function wrapped(line: string, width: number, indent: number): string {
  const lines: string[] = [];
  let rest = line;
  // A very narrow terminal gets long lines.
  const room = Math.max(width, indent + 20);
  while (rest.length > room) {
    const space = rest.lastIndexOf(" ", room);
    if (space <= indent) break;
    lines.push(rest.slice(0, space).trimEnd());
    rest = " ".repeat(indent) + rest.slice(space).trimStart();
  }
  return [...lines, rest].join("\n");
}
