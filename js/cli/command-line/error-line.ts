import { escaped } from "../screen/escaped.js";

/** What went wrong and what to do, as stderr has it: on one line, with the program's name. */
export function errorLine(message: string): string {
  return `sandpipe: ${escaped(message.replaceAll(/\s*[\r\n]+\s*/g, " ").trim())}\n`;
}
