import { SEQUENCES, UNFINISHED_SEQUENCE } from "../../control-sequences.js";
import type { ExecStdout } from "../../core/sandpipe.js";

/** What a terminal answers as if it had been typed, each as a whole sequence. */
const QUERIES = [
  // Its kind, a status or the cursor's place, a mode, its version, its size, the keyboard's mode and others
  // (ECMA-48: DA, DSR; DEC: DECRQM, DECREQTPARM, DECRQPSR, DECRQCRA; xterm; kitty).
  /^(?:\x1b\[|\x9b)(?:[>=]?[\d;]*c|\??[\d;]*n|\??[\d;]*\$p|>[\d;]*q|[01]?x|[\d;]*(?:\$w|\*y)|(?:1[13-689]|2[01])(?:;[\d;]*)?t|\?[\d;]*[Su])$/,
  // Its kind (DECID).
  /^\x1bZ$/,
  // A colour or the clipboard (xterm): a field is a question mark.
  /^(?:\x1b\]|\x9d)\d+;(?:.*;)?\?(?:[;\x07\x9c]|\x1b\\)/,
  // A setting or a capability (DECRQSS, XTGETTCAP).
  /^(?:\x1bP|\x90)[$+]q/,
  // Whether it shows images (kitty).
  /^(?:\x1b_|\x9f)G(?:[^;]*,)?a=q/,
];

/** "Who are you?", in C0. */
const ENQUIRY = /\x05/g;

/** What is longer is no query. A sequence may come in pieces: so much of one is held back. */
const LONGEST_QUERY = 4096;

/**
 * Gives the output of a command with a terminal as another terminal may show it: up to the piece `newest`
 * without queries. A terminal that was there then has answered them, and a second answer would be typed
 * into whatever reads the keyboard now. Which of them found a terminal is not known.
 *
 * @returns Takes the pieces in order.
 */
export function withoutOldQueries(newest: number): (piece: ExecStdout) => string {
  let held = "";
  return ({ output, sequence }) => {
    let text = held + output;
    held = "";
    if (sequence > newest) return text;
    if (sequence < newest) {
      const { 0: begun = "" } = UNFINISHED_SEQUENCE.exec(text) ?? [];
      if (begun.length <= LONGEST_QUERY) held = begun;
      text = text.slice(0, text.length - held.length);
    }
    return text
      .replaceAll(SEQUENCES, (sequence) => {
        return QUERIES.some((query) => query.test(sequence)) ? "" : sequence;
      })
      .replaceAll(ENQUIRY, "");
  };
}
