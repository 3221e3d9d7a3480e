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

  /** Pieces before the first one; the last ones make room, and then the end is not loaded any more. */
  prepend(older: readonly ExecStdout[]): void {
    for (const piece of older) this.#count(piece, 1);
    this.#pieces = [...older, ...this.#pieces];
    for (;;) {
      const newest = this.#pieces.at(-1);
      if (newest === undefined || this.#pieces.length <= older.length) return;
      if (!this.#isOver(newest)) return;
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

/** About how many characters are loaded upward at once. */
const BATCH = 512 * 1024;

/** How many pieces to load upward, to have about as much as is wanted. */
export function batchSize({ characters, pieces }: Pick<Loaded, "characters" | "pieces">): number {
  const average = Math.max(1, characters / Math.max(1, pieces.length));
  return Math.max(16, Math.min(8_192, Math.ceil(BATCH / average)));
}
