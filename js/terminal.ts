import type { ExecStdout, Terminal as Core } from "./core/sandpipe.js";
import { EventStream } from "./stream.js";

/** A terminal at an exec, as {@link Execs.attach} gives it. */
export class Terminal implements AsyncIterable<ExecStdout> {
  readonly #core: Core;
  #exited: Promise<number> | undefined;

  /**
   * The output from its beginning, each event once and in order, as it arrives, also over a broken
   * connection. The last one carries the exit code. There is one iteration; leaving it early closes
   * the connection and does not stop the process. It throws as {@link Execs.streamOutput} does.
   */
  readonly output: AsyncIterableIterator<ExecStdout>;

  /** @internal */
  constructor(core: Core) {
    this.#core = core;
    this.output = new EventStream(() => core.output());
  }

  /** The same as {@link Terminal.output}. */
  [Symbol.asyncIterator](): AsyncIterableIterator<ExecStdout> {
    return this.output;
  }

  /**
   * Types a text. Resolves when the process's terminal or pipe has taken it; a call need not be
   * awaited for the next one to come after it. It is never repeated: the process could read it twice.
   *
   * @throws {HttpError} The process has ended, or the token is read-only. With status 0: the
   * connection broke, and whether the text arrived is not known.
   * @throws {ClosedError} The terminal was closed.
   */
  write(text: string): Promise<void> {
    return this.#core.write(text);
  }

  /**
   * Sets the terminal's size, in characters.
   *
   * @throws {HttpError} With status 400: the exec has no pseudo-terminal, or does not run.
   */
  resize(cols: number, rows: number): Promise<void> {
    return this.#core.resize(cols, rows);
  }

  /**
   * The exit code, 128 + N after death by signal N, once there is one. It is asked for when this is
   * first read: over a connection of its own, unless the output has been read to its end.
   *
   * @throws {ExitCodeMissingError} There is no exit code to be had.
   */
  get exited(): Promise<number> {
    if (this.#exited !== undefined) return this.#exited;
    const exited = this.#core.exited();
    this.#exited = exited;
    // The next one who reads it asks again.
    exited.catch(() => {
      this.#exited = undefined;
    });
    return exited;
  }

  /** Ends all connections. The command goes on. */
  close(): void {
    this.#core.close();
  }

  /** The same as {@link Terminal.close}, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}
