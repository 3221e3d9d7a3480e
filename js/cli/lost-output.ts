import { isSandpipeError, type OutputLostError } from "../core/errors.js";
import { type Outcome, OWN_FAILURE } from "./outcome.js";

/** The pieces of an output that its agent no longer has. */
export class LostOutput {
  #count = 0;
  #first = 0;
  #last = 0;
  #reason = "";

  /** Says what is lost and why; undefined where nothing is. */
  get message(): string | undefined {
    if (this.#count === 0) return undefined;
    const pieces = `the pieces ${this.#first} to ${this.#last} of the output`;
    const isAll = this.#count === this.#last - this.#first + 1;
    return `${isAll ? "" : `${this.#count} of `}${pieces} are lost: ${this.#reason}.`;
  }

  /** The outcome of a command: its own exit code. A 0 must not let output pass for complete. */
  outcome(exitCode: number): Outcome {
    const { message } = this;
    if (message === undefined) return { exitCode };
    return { exitCode: exitCode === 0 ? OWN_FAILURE : exitCode, message };
  }

  /**
   * Yields the pieces of an output that there are, also those after lost ones.
   *
   * @param read Reads the output after a sequence number.
   */
  async *skip<Piece>(
    read: (lastSequence: number) => AsyncIterable<Piece>,
    lastSequence: number,
  ): AsyncGenerator<Piece> {
    let last = lastSequence;
    for (;;) {
      try {
        yield* read(last);
        return;
      } catch (error) {
        if (!isSandpipeError(error, "output_lost")) throw error;
        this.#add(error);
        last = error.to;
      }
    }
  }

  #add({ from, to, reason }: OutputLostError): void {
    if (this.#count === 0) this.#first = from;
    this.#count += to - from + 1;
    this.#last = to;
    this.#reason = reason ?? "the agent keeps the newest output up to its --spool-limit";
  }
}
