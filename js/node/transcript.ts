import { constants } from "node:buffer";

import { OutputLimitError } from "../core/errors.js";

/** The output of a script as it is collected: as much as a string can hold. */
export class Transcript {
  readonly #pieces: string[] = [];
  #room = constants.MAX_STRING_LENGTH;
  #cut = false;

  /** There was more than a string can hold: the first part is kept. */
  get cut(): boolean {
    return this.#cut;
  }

  get text(): string {
    return this.#pieces.join("");
  }

  append(piece: string): void {
    if (this.#cut) return;
    this.#cut = piece.length > this.#room;
    const kept = this.#cut ? piece.slice(0, this.#room) : piece;
    this.#pieces.push(kept);
    this.#room -= kept.length;
  }
}

/**
 * The error of a script that was stopped, since nothing could take what it still says.
 *
 * @param left It may still run.
 */
export function outputLimit(output: string, left: boolean, cause?: unknown): OutputLimitError {
  const end = left ? "it may still run" : "it was stopped";
  const hint = "Have the script write to a file, and read that piece by piece.";
  return new OutputLimitError(
    `the script's output is longer than a string can be (${constants.MAX_STRING_LENGTH} characters); ${end}. ${hint}`,
    { hint, ...(cause === undefined ? {} : { cause }), execId: "", output },
  );
}
