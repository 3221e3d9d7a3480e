import { setTimeout as delay } from "node:timers/promises";

import type { ExecStdout } from "../../core/sandpipe.js";
import type { Execs } from "../../execs.js";
import { aborted } from "../ending/aborted.js";
import type { StandardOutput } from "../ending/ending.js";
import { failed } from "../ending/failed.js";

/** How long all of it may take when somebody is in a hurry, in milliseconds. */
const HURRY_MS = 1000;

/**
 * A command's output on its way to stdout and stderr. The next piece is asked for when the last has
 * been taken, so that a slow reader costs no memory.
 */
export class ShownOutput {
  /** Resolves the exit code when all output has been taken. */
  readonly exitCode: Promise<number>;
  #ended = false;
  #taken = 0;

  /**
   * @param since The sequence number of the first piece that is shown.
   * @param textOf What is shown of a piece.
   */
  constructor(
    execs: Execs,
    id: string,
    outlets: StandardOutput,
    since = 1,
    textOf: (piece: ExecStdout) => string = ({ output }) => output,
  ) {
    this.exitCode = this.#show(execs, id, outlets, since, textOf);
  }

  /** Whether the command has ended and all its output has been taken. */
  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Waits until all output of a command that was stopped is taken, as long as some is.
   *
   * @param patienceMs How long none may be taken, in milliseconds.
   * @param forced Aborted: it may take a moment more.
   * @returns Why some of it is not shown, if so.
   */
  async rest(patienceMs: number, forced: AbortSignal): Promise<string | undefined> {
    const all = this.exitCode.then(
      () => undefined,
      (error: unknown) => failed(error).message,
    );
    const hurry = aborted(forced).then(() => delay(HURRY_MS, "some of the output is not shown."));
    for (;;) {
      const before = this.#taken;
      const slow = delay(Math.max(patienceMs, HURRY_MS), "");
      const why = await Promise.race([all, hurry, slow]);
      if (why !== "") return why;
      if (this.#taken === before) return "some of the output is not shown: nobody reads it.";
    }
  }

  async #show(
    execs: Execs,
    id: string,
    outlets: StandardOutput,
    since: number,
    textOf: (piece: ExecStdout) => string,
  ): Promise<number> {
    for await (const piece of execs.streamOutput(id, since - 1)) {
      const { type, exitCode } = piece;
      await outlets[type].write(textOf(piece));
      this.#taken += 1;
      if (exitCode !== undefined) {
        this.#ended = true;
        return exitCode;
      }
    }
    throw new Error(`the output of exec ${id} ended without an exit code.`);
  }
}
