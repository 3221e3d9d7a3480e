import {
  type Background,
  type BackgroundOutput,
  isSandpipeError,
  type ReadOutputOptions,
} from "sandpipe";
import { pause } from "../connection/pause.js";

/** Which lines of a process's output are shown. */
export interface Grep {
  stream: "both" | "stdout" | "stderr";
  /** A regular expression; empty: every line. */
  pattern: string;
  exclude: boolean;
}

/** How much of the output there is already is shown, in bytes. */
const TAIL = 256 * 1024;

/** How long the target waits for more output before it answers, in milliseconds. */
const WAIT = 2_000;

/** What to read next, after the last piece or at first. */
export function nextRead(
  { stream, pattern, exclude }: Grep,
  last: BackgroundOutput | undefined,
): ReadOutputOptions {
  const lines = pattern === "" ? {} : { filter: pattern, exclude };
  if (last === undefined) return { stream, ...lines, tailBytes: TAIL };
  return { stream, ...lines, offset: last.nextOffset, waitMs: WAIT };
}

/** Whether there is nothing left to come. */
export function isComplete(last: BackgroundOutput, before: BackgroundOutput | undefined): boolean {
  return last.status !== "running" && last.nextOffset === before?.nextOffset;
}

/** Whether the agent could not be reached, or the connection broke. */
function isCut(error: unknown): boolean {
  const codes = ["network", "create_unknown", "exit_code_missing"] as const;
  return (
    codes.some((code) => isSandpipeError(error, code)) ||
    (isSandpipeError(error, "background") && isCut(error.cause))
  );
}

/** How often in succession a target may not answer as it should, until that is the end. */
const MAX_FAILURES = 5;

/**
 * Reads the end of a process's output and what follows, until it is complete or the reader leaves.
 *
 * @param take What was read; nothing more is read meanwhile.
 * @param onFailure The target did not answer as it should, as when its agent is stopped: it is asked again,
 *   {@link MAX_FAILURES} times in all.
 */
export async function tail(
  background: Background,
  id: string,
  grep: Grep,
  signal: AbortSignal,
  take: (output: string) => Promise<void>,
  onFailure: (error: unknown) => void,
): Promise<void> {
  let last: BackgroundOutput | undefined;
  let failures = 0;
  for (;;) {
    const before = last;
    try {
      last = await background.readOutput(id, nextRead(grep, before));
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      if (!isCut(error)) {
        failures++;
        if (!isSandpipeError(error, "background") || failures === MAX_FAILURES) throw error;
        onFailure(error);
      }
      // What was read is known: it goes on there.
      await pause(signal);
      continue;
    }
    if (signal.aborted) return;
    await take(last.output);
    if (isComplete(last, before)) return;
  }
}
