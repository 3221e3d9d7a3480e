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
    this.#length += piece.output.length;
    for (;;) {
      const oldest = this.#pieces[this.#first];
      if (oldest === undefined || this.#length - oldest.output.length < this.#limit) break;
      this.#length -= oldest.output.length;
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
