// No text takes longer than its length: nothing that begins a sequence can stand within one.
// Control strings (ECMA-48, 5.6) that end, control sequences (5.4), other escape sequences (ECMA-35, 13.2).
const SEQUENCES =
  /(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])[^\n\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]/g;

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
