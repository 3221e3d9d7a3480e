import { firstOf } from "./cut-middle.js";
import { plainText } from "./plain-text.js";

/** How long a name is at most, in characters. */
const MAX_NAME_LENGTH = 80;

/** A name as it stands in a line of a result: nobody's name is to look like another line. */
export function oneLine(name: string): string {
  const line = plainText(name).replaceAll(/\s+/g, " ").trim();
  return line.length > MAX_NAME_LENGTH ? `${firstOf(line, MAX_NAME_LENGTH - 1)}…` : line;
}
