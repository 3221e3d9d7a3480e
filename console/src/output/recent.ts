/** What a piece costs besides its characters, counted as if it were some. */
const OVERHEAD = 128;

/** The newest pieces of a text, up to a number of characters. */
export class Recent<Piece extends { output: string }> {
  /** Whether some are gone. */
  dropped = false;
  readonly #limit: number;
  #pieces: Piece[] = [];
  /** Those before it are dropped. */
  #first = 0;
  #length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(piece: Piece): void {
    this.#pieces.push(piece);
    this.#length += cost(piece);
    for (;;) {
      const oldest = this.#pieces[this.#first];
      if (oldest === undefined || this.#length - cost(oldest) < this.#limit) break;
      this.#length -= cost(oldest);
      this.#first++;
      this.dropped = true;
    }
    // Moved seldom, for each costs as much as there is.
    if (this.#first > this.#pieces.length / 2) {
      this.#pieces = this.#pieces.slice(this.#first);
      this.#first = 0;
    }
  }

  pieces(): readonly Piece[] {
    return this.#pieces.slice(this.#first);
  }
}

function cost({ output }: { output: string }): number {
  return output.length + OVERHEAD;
}
