import { isSandpipeError, type Execs, type ExecStdout } from "sandpipe";
import { piecesBefore } from "./follow.js";
import { batchSize } from "./loaded.js";

/** How much is copied at most, in characters. */
export const MAX_COPIED = 16 * 1024 * 1024;

export interface Collected {
  text: string;
  /** Whether it begins where the output does. */
  isAll: boolean;
}

/**
 * The text of an output up to a piece: all of it, or as much of its end as may be copied.
 *
 * @param loaded What there is of it already, up to its end.
 */
export async function collect(
  execs: Execs,
  id: string,
  loaded: readonly ExecStdout[],
  signal: AbortSignal,
  max = MAX_COPIED,
): Promise<Collected> {
  let pieces = [...loaded];
  let length = pieces.reduce((sum, { output }) => sum + output.length, 0);
  while (length < max && (pieces[0]?.sequence ?? 1) > 1) {
    const first = pieces[0]?.sequence ?? 1;
    const older = await availableBefore(
      execs,
      id,
      first,
      batchSize({ characters: length, lines: 0, pieces }),
      signal,
    );
    if (older.length === 0) break;
    length += older.reduce((sum, { output }) => sum + output.length, 0);
    pieces = [...older, ...pieces];
  }
  const text = pieces.map(({ output }) => output).join("");
  const isAll = text.length <= max && (pieces[0]?.sequence ?? 1) <= 1;
  return { text: isAll ? text : text.slice(-max), isAll };
}

/** The pieces before one, as far as the agent still has them. */
async function availableBefore(
  execs: Execs,
  id: string,
  before: number,
  count: number,
  signal: AbortSignal,
): Promise<ExecStdout[]> {
  try {
    return await piecesBefore(execs, id, before, count, signal);
  } catch (error) {
    if (!isSandpipeError(error, "output_lost")) throw error;
    const left = before - 1 - error.to;
    return left <= 0 ? [] : piecesBefore(execs, id, before, Math.min(count, left), signal);
  }
}

/** What to tell of it: how much was copied, and whether that is all. */
export function copiedText({ text, isAll }: Collected): string {
  const amount = sizeText(text.length);
  if (isAll) return `Copied all of it: ${amount}.`;
  return `Copied the last ${amount}. Download has all of it.`;
}

/** A number of characters, in words. */
export function sizeText(characters: number): string {
  if (characters < 1_000) return `${characters} characters`;
  const [unit, name] = characters < 1_000_000 ? [1_000, "thousand"] : [1_000_000, "million"];
  return `${(characters / unit).toFixed(1)} ${name} characters`;
}
