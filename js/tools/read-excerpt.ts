import { throwIfAborted } from "../abort.js";
import type { Background } from "../background.js";
import type { BackgroundOutput, ReadOutputOptions } from "../core/sandpipe.js";
import { binaryText, cutMiddle, isBinary, plainText } from "./text.js";

/** Output as plain text within a budget; where it is binary, that, and how long it is. */
export interface Excerpt extends Pick<BackgroundOutput, "nextOffset" | "status" | "exitCode"> {
  text: string;
  /** Whether something is left out of the text. */
  isCut: boolean;
}

type Stream = NonNullable<ReadOutputOptions["stream"]>;

/** No character takes more bytes in UTF-8. */
const BYTES_PER_CHARACTER = 4;

/**
 * The output of a process from a place up to its end: its beginning and its end where there is more than
 * `budget` characters. The middle of a long one is not read.
 */
export async function readExcerpt(
  processes: Background,
  id: string,
  stream: Stream,
  offset: number,
  budget: number,
): Promise<Excerpt> {
  const maxBytes = budget * BYTES_PER_CHARACTER;
  const first = await processes.readOutput(id, { stream, offset, maxBytes });
  // A character that would not have fitted is left out, too.
  if (first.nextOffset - offset <= maxBytes - BYTES_PER_CHARACTER) {
    return within(first.output, first, offset, budget);
  }
  const tail = { stream, tailBytes: maxBytes, maxBytes };
  const last = await processes.readOutput(id, tail);
  if (last.nextOffset - maxBytes > first.nextOffset) {
    if (isBinary(first.output + last.output)) return binary(last, offset);
    const text = cutMiddle(plainText(first.output), plainText(last.output), budget);
    return { ...standing(last), text, isCut: true };
  }
  const rest = await processes.readOutput(id, { stream, offset: first.nextOffset, maxBytes });
  return within(first.output + rest.output, rest, offset, budget);
}

/** The most that is looked through in one call, in reads of 1 MiB. */
const MAX_READS = 64;

/** An expression that is found in every line: what is read are whole lines. */
const ANY_LINE = "";

/**
 * The lines of a process's output, as plain text, from a place on that are wanted, up to the end of the
 * output, the budget, or 64 MiB that were looked through: `hasMore` says whether there is more.
 */
export async function readLines(
  processes: Background,
  id: string,
  {
    stream,
    offset: from,
    isWanted,
  }: { stream: Stream; offset: number; isWanted: (line: string) => boolean },
  budget: number,
  signal: AbortSignal | undefined,
): Promise<Excerpt & { hasMore: boolean }> {
  let lines = "";
  let offset = from;
  for (let reads = 1; ; reads += 1) {
    const piece = await processes.readOutput(id, { stream, offset, filter: ANY_LINE });
    throwIfAborted(signal);
    const all = plainText(piece.output).match(/[^\n]*\n|[^\n]+$/g) ?? [];
    lines += all.filter((line) => isWanted(line.replace(/\n$/, ""))).join("");
    const hasMore = piece.nextOffset > offset;
    if (!hasMore || lines.length > budget || reads === MAX_READS) {
      return { ...within(lines, piece, from, budget), hasMore };
    }
    offset = piece.nextOffset;
  }
}

function within(output: string, read: BackgroundOutput, from: number, budget: number): Excerpt {
  if (isBinary(output)) return binary(read, from);
  const text = plainText(output);
  if (text.length <= budget) return { ...standing(read), text, isCut: false };
  return { ...standing(read), text: cutMiddle(text, text, budget), isCut: true };
}

function binary(read: BackgroundOutput, from: number): Excerpt {
  return { ...standing(read), text: binaryText(read.nextOffset - from), isCut: true };
}

function standing({
  nextOffset,
  status,
  exitCode,
}: BackgroundOutput): Omit<Excerpt, "text" | "isCut"> {
  return exitCode === undefined ? { nextOffset, status } : { nextOffset, status, exitCode };
}
