import type { ExecStdout } from "sandpipe";

/** How much of an output is held at once. */
export interface Limits {
  characters: number;
  lines: number;
}

/** What a piece costs besides its characters, counted as if it were some. */
const OVERHEAD = 128;

/** Pieces of an output that follow each other: the part of it that is loaded. */
export class Loaded {
  readonly #limits: Limits;
  #pieces: ExecStdout[] = [];
  #cost = 0;
  #lines = 0;
  /** Whether pieces after these were dropped: the end of the output is not loaded. */
  #endDropped = false;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get pieces(): readonly ExecStdout[] {
    return this.#pieces;
  }

  /** The number of the first piece; undefined where nothing is loaded. */
  get first(): number | undefined {
    return this.#pieces[0]?.sequence;
  }

  /** The number of the last piece; 0 where nothing is loaded. */
  get last(): number {
    return this.#pieces.at(-1)?.sequence ?? 0;
  }

  /** Whether what comes next follows what is loaded. */
  get hasEnd(): boolean {
    return !this.#endDropped;
  }

  get characters(): number {
    return this.#cost - this.#pieces.length * OVERHEAD;
  }

  get lines(): number {
    return this.#lines;
  }

  /** Whether it is as much as may be held. */
  get isFull(): boolean {
    return this.#cost >= this.#limits.characters || this.#lines >= this.#limits.lines;
  }

  clear(): void {
    [this.#pieces, this.#cost, this.#lines, this.#endDropped] = [[], 0, 0, false];
  }

  /** A piece at the end; the first ones make room. One that is there already is passed over. */
  push(piece: ExecStdout): boolean {
    if (this.#endDropped || piece.sequence <= this.last) return false;
    this.#pieces.push(piece);
    this.#count(piece, 1);
    let drop = 0;
    for (;;) {
      const oldest = this.#pieces[drop];
      if (oldest === undefined || drop === this.#pieces.length - 1 || !this.#isOver(oldest)) break;
      this.#count(oldest, -1);
      drop++;
    }
    // Few at a time: each move costs as much as there is.
    if (drop > 0) this.#pieces.splice(0, drop);
    return true;
  }

  /**
   * Pieces before the first one, as many of the last of them as make half of what may be held; returns those. The last ones that
   * are loaded make room, and then the end is not loaded any more.
   *
   * @param keepEnd No more than there is room for.
   */
  prepend(older: readonly ExecStdout[], keepEnd: boolean): readonly ExecStdout[] {
    const { characters, lines } = this.#limits;
    const room = keepEnd
      ? { characters: characters - this.#cost, lines: lines - this.#lines }
      : { characters: characters / 2, lines: lines / 2 };
    const added = lastWithin(older, room, keepEnd ? 0 : 1);
    for (const piece of added) this.#count(piece, 1);
    this.#pieces = [...added, ...this.#pieces];
    for (;;) {
      const newest = this.#pieces.at(-1);
      // One stays of what was in sight.
      if (newest === undefined || this.#pieces.length <= added.length + 1) return added;
      if (!this.#isOver(newest)) return added;
      this.#count(newest, -1);
      this.#pieces.pop();
      this.#endDropped = true;
    }
  }

  /** Whether it is too much even without this one. */
  #isOver(piece: ExecStdout): boolean {
    return (
      this.#cost - cost(piece) >= this.#limits.characters ||
      this.#lines - lines(piece) >= this.#limits.lines
    );
  }

  #count(piece: ExecStdout, sign: 1 | -1): void {
    this.#cost += sign * cost(piece);
    this.#lines += sign * lines(piece);
  }
}

function cost({ output }: ExecStdout): number {
  return output.length + OVERHEAD;
}

function lines({ output }: ExecStdout): number {
  let count = 0;
  for (let at = output.indexOf("\n"); at >= 0; at = output.indexOf("\n", at + 1)) count++;
  return count;
}

/** The last pieces that make no more than there is room for, but at least so many. */
function lastWithin(
  pieces: readonly ExecStdout[],
  room: Limits,
  atLeast: number,
): readonly ExecStdout[] {
  let { characters, lines: lineRoom } = room;
  let first = pieces.length;
  for (; first > 0; first--) {
    const piece = pieces[first - 1];
    if (piece === undefined) break;
    characters -= cost(piece);
    lineRoom -= lines(piece);
    if ((characters < 0 || lineRoom < 0) && pieces.length - first >= atLeast) break;
  }
  return pieces.slice(first);
}

/** About how much is loaded upward at once. */
const BATCH: Limits = { characters: 512 * 1024, lines: 5_000 };

/** How many pieces to load upward, to have about as much as is wanted. */
export function batchSize(loaded: {
  characters: number;
  lines: number;
  pieces: readonly unknown[];
}): number {
  const count = Math.max(1, loaded.pieces.length);
  const byCharacters = BATCH.characters / Math.max(1, loaded.characters / count);
  const byLines = BATCH.lines / Math.max(1, loaded.lines / count);
  return Math.max(1, Math.min(8_192, Math.ceil(Math.min(byCharacters, byLines))));
}
