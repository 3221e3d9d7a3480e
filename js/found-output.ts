import type { ExecStdout } from "./core/sandpipe.js";

/** A text in an output that was waited for. */
export interface FoundOutput<Match extends string | RegExpExecArray = string | RegExpExecArray> {
  /**
   * The string that was looked for; of a `RegExp`, what its `exec` has given: `match[0]` is the text, `match[1]` the first
   * group. Its `input` is the part of the output that was looked at.
   */
  match: Match;
  /** The event that brought the end of it. */
  event: ExecStdout;
}

/** A text in the output of a background process that was waited for. */
export interface BackgroundFoundOutput<
  Match extends string | RegExpExecArray = string | RegExpExecArray,
> {
  /** The string that was looked for; of a `RegExp`, what its `exec` has given, as in {@link FoundOutput}. */
  match: Match;
  /** The stream that it is in. */
  stream: "stdout" | "stderr";
  /** Where a read of both streams goes on behind the piece of output that brought the end of it. */
  nextOffset: number;
}
