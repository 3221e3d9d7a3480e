import { ReadStream } from "node:tty";

import type { Execs } from "../../execs.js";

/** The terminal that this process runs in, lent to a command that has a terminal of its own. */
export class Terminal {
  readonly #stdin: ReadStream;
  /** What can be asked for its size. */
  readonly #screen: NodeJS.WriteStream | undefined;

  /** @throws stdin is no terminal. */
  constructor() {
    if (!(process.stdin instanceof ReadStream)) {
      throw new Error("-t needs a terminal, and stdin is none: leave -t out.");
    }
    this.#stdin = process.stdin;
    this.#screen = [process.stdout, process.stderr].find((stream) => stream.isTTY);
  }

  /** Hands every key, also Ctrl+C, to whoever reads stdin, and shows none. */
  setRaw(): void {
    this.#stdin.setRawMode(true);
  }

  /** Undoes {@link setRaw}. */
  restore(): void {
    this.#stdin.setRawMode(false);
  }

  /**
   * Starts an exec with the size of this terminal, and gives it each later one.
   *
   * @param id An exec that has not been started.
   */
  async start(execs: Execs, id: string): Promise<void> {
    const sized = await this.lendSize(execs, id);
    await execs.start(id);
    // Not every agent takes it before there is a process.
    if (!sized) await this.#sendSize(execs, id);
  }

  /** Gives an exec the size of this terminal, now and whenever it changes. Resolves whether it took it. */
  lendSize(execs: Execs, id: string): Promise<boolean> {
    let sending = this.#sendSize(execs, id);
    const first = sending;
    this.#screen?.on("resize", () => {
      // One at a time, for the last one to be the last to arrive.
      sending = sending.then(() => this.#sendSize(execs, id));
    });
    return first;
  }

  /** Whether the agent took it, or there is none. */
  async #sendSize(execs: Execs, id: string): Promise<boolean> {
    const { columns: cols = 0, rows = 0 } = this.#screen ?? {};
    // A terminal that has never been told its size says 0.
    if (cols === 0 || rows === 0) return true;
    const size = JSON.stringify({ cols, rows });
    // What is really wrong the output tells: a size is nothing to fail for.
    return execs.sendStdin(id, { type: "resize", input: size }).then(
      () => true,
      () => false,
    );
  }
}
