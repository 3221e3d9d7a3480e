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
