import type { ExecItem, Execs } from "sandpipe";

/** How many pieces at the end of each output are looked through. */
const PIECES = 256;

/** How many characters are shown around what was found. */
const CONTEXT = 60;

export interface SearchProgress {
  /** How many runs have been looked through, of how many. */
  done: number;
  total: number;
  /** The place of the text in the outputs that have it, by the runs' ids. */
  found: ReadonlyMap<string, string>;
  isOver: boolean;
}

/** The line that has a text, cut to what is around it; undefined where the text is not there. */
export function placeOf(output: string, text: string): string | undefined {
  const at = output.toLowerCase().lastIndexOf(text.toLowerCase());
  if (at < 0 || text === "") return undefined;
  const begin = Math.max(output.lastIndexOf("\n", at - 1) + 1, at - CONTEXT);
  const newline = output.indexOf("\n", at);
  const end = Math.min(newline < 0 ? output.length : newline, at + text.length + CONTEXT);
  // Terminal sequences and other control characters are none of the text.
  return output
    .slice(begin, end)
    .replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "")
    .replace(/[\x00-\x1f\x7f]/g, " ")
    .trim();
}

/**
 * Looks for a text in the outputs of runs, in their order: the last {@link PIECES} pieces of each.
 *
 * @param onProgress Called after each.
 */
export async function searchOutputs(
  execs: Execs,
  items: readonly ExecItem[],
  text: string,
  signal: AbortSignal,
  onProgress: (progress: SearchProgress) => void,
): Promise<void> {
  const found = new Map<string, string>();
  let done = 0;
  const tell = (isOver: boolean) => {
    if (!signal.aborted) onProgress({ done, total: items.length, found: new Map(found), isOver });
  };
  const queue = items.values();
  const worker = async () => {
    for (const { id } of queue) {
      if (signal.aborted) return;
      // What can't be read has nothing to be found: its pane says why.
      const output = await execs.getOutput(id, -PIECES).then(
        ({ output }) => output,
        () => "",
      );
      const place = placeOf(output, text);
      if (place !== undefined) found.set(id, place);
      done++;
      tell(false);
    }
  };
  tell(false);
  // A browser has few connections.
  await Promise.all([worker(), worker()]);
  tell(true);
}
