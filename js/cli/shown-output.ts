import { setTimeout as delay } from "node:timers/promises";

import type { ExecStdout } from "../core/sandpipe.js";
import type { OutputEvent } from "../events.js";
import type { Execs } from "../execs.js";
import { aborted, type StandardOutput } from "./exit-decision.js";
import { failed } from "./failure.js";
import { LostOutput } from "./lost-output.js";
import type { Outcome } from "./outcome.js";
import { outputPieces } from "./output-pieces.js";

/** How long all of it may take once the end is forced, in milliseconds. */
const FORCED_TIMEOUT_MS = 1000;

/** How much of the end of the output is kept, in bytes. */
const END_BYTES = 4096;

/**
 * A command's output on its way to stdout and stderr, as far as the agent has it. The next piece is
 * asked for when the last has been taken, so that a slow reader costs no memory.
 */
export class ShownOutput {
  /** Resolves the exit code, and what is lost, when all output has been taken. */
  readonly outcome: Promise<Outcome>;
  readonly #lost = new LostOutput();
  #ended = false;
  #taken = 0;
  #end = "";

  /**
   * @param since The sequence number of the first piece that is shown.
   * @param textOf What is shown of a piece, if that is not all of it as it is.
   */
  constructor(
    execs: Execs,
    id: string,
    writers: StandardOutput,
    since = 1,
    textOf?: (piece: ExecStdout) => string,
  ) {
    this.outcome = this.#show(execs, id, writers, since, textOf);
  }

  /** Whether the command has ended and all its output has been taken. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The end of the output, for a search in it: bytes beyond ASCII are not decoded. */
  get end(): string {
    return this.#end;
  }

  /**
   * Waits until all output of a command that was stopped is taken, as long as some is.
   *
   * @param idleTimeoutMs How long none may be taken, in milliseconds.
   * @param forced Aborted: it may take a moment more.
   * @returns Why some of it is not shown, if so.
   */
  async rest(idleTimeoutMs: number, forced: AbortSignal): Promise<string | undefined> {
    const all = this.outcome.then(
      ({ message }) => message,
      (error: unknown) => failed(error).message,
    );
    const forcedTimeout = aborted(forced).then(() =>
      delay(FORCED_TIMEOUT_MS, "some of the output is not shown."),
    );
    for (;;) {
      const before = this.#taken;
      const slow = delay(Math.max(idleTimeoutMs, FORCED_TIMEOUT_MS), "");
      const why = await Promise.race([all, forcedTimeout, slow]);
      if (why !== "") return why;
      if (this.#taken === before) return "some of the output is not shown: nobody reads it.";
    }
  }

  async #show(
    execs: Execs,
    id: string,
    writers: StandardOutput,
    since: number,
    textOf: ((piece: ExecStdout) => string) | undefined,
  ): Promise<Outcome> {
    const read = (last: number): AsyncIterable<OutputEvent<Uint8Array | string>> =>
      textOf === undefined
        ? outputPieces(execs, id, last)
        : shownPieces(execs.streamOutput(id, last), textOf);
    for await (const { type, output, exitCode } of this.#lost.skip(read, since - 1)) {
      await writers[type].write(output);
      this.#taken += 1;
      this.#end = (this.#end + endOf(output)).slice(-END_BYTES);
      if (exitCode !== undefined) {
        this.#ended = true;
        return this.#lost.outcome(exitCode);
      }
    }
    throw new Error(`the output of exec ${id} ended without an exit code.`);
  }
}

function endOf(output: Uint8Array | string): string {
  if (typeof output === "string") return output.slice(-END_BYTES);
  return Buffer.from(output.subarray(-END_BYTES)).toString("latin1");
}

async function* shownPieces(
  pieces: AsyncIterable<ExecStdout>,
  textOf: (piece: ExecStdout) => string,
): AsyncGenerator<ExecStdout> {
  for await (const piece of pieces) yield { ...piece, output: textOf(piece) };
}
