import { SEQUENCES } from "../control-sequences.js";

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
