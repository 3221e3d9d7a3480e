import { ReadStream } from "node:tty";

import type { ExecStdout } from "../core/sandpipe.js";
import type { Execs } from "../execs.js";
import { SEQUENCES, UNFINISHED_SEQUENCE } from "../tools/text.js";

/** The terminal that this process runs in: its keys and its size are passed on to a command with a terminal of its own. */
export class LocalTerminal {
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
   * Starts an exec with the size of this terminal, and passes on each later one.
   *
   * @param id An exec that has not been started.
   */
  async start(execs: Execs, id: string): Promise<void> {
    const sized = await this.lendSize(execs, id);
    await execs.start(id);
    // Not every agent takes it before there is a process.
    if (!sized) await this.#sendSize(execs, id);
  }

  /** Sets the size of an exec's terminal to that of this one, now and whenever it changes. Resolves whether that was accepted. */
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
    // A terminal whose size was never set says 0.
    if (cols === 0 || rows === 0) return true;
    const size = JSON.stringify({ cols, rows });
    // What is really wrong shows in the output: a size is nothing to fail for.
    return execs.sendStdin(id, { type: "resize", input: size }).then(
      () => true,
      () => false,
    );
  }
}

const CTRL_P = 0x10;
const CTRL_Q = 0x11;

/** Ctrl+P Ctrl+Q was typed. */
export class Detached extends Error {
  override readonly name = "Detached";
}

/**
 * A keyboard's bytes up to Ctrl+P Ctrl+Q, as at a container. A Ctrl+P is held back until it is known
 * what follows.
 *
 * @throws {Detached} That was typed.
 */
export async function* upToDetachKeys(keys: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held = false;
  for await (const chunk of keys) {
    const bytes: number[] = held ? [CTRL_P, ...chunk] : [...chunk];
    const end = bytes.findIndex((byte, index) => byte === CTRL_Q && bytes[index - 1] === CTRL_P);
    if (end >= 0) {
      yield Uint8Array.from(bytes.slice(0, end - 1));
      throw new Detached("left by Ctrl+P Ctrl+Q");
    }
    held = bytes.at(-1) === CTRL_P;
    yield Uint8Array.from(held ? bytes.slice(0, -1) : bytes);
  }
}

/** What a terminal answers as if it had been typed, each as a whole sequence. */
const QUERIES = [
  // Its kind, a status or the cursor's place, a mode, its version, its size, the keyboard's mode and others
  // (ECMA-48: DA, DSR; DEC: DECRQM, DECREQTPARM, DECRQPSR, DECRQCRA; xterm; kitty).
  /^(?:\x1b\[|\x9b)(?:[>=]?[\d;]*c|\??[\d;]*n|\??[\d;]*\$p|>[\d;]*q|[01]?x|[\d;]*(?:\$w|\*y)|(?:1[13-689]|2[01])(?:;[\d;]*)?t|\?[\d;]*[Su])$/,
  // Its kind (DECID).
  /^\x1bZ$/,
  // A colour or the clipboard (xterm): a field is a question mark.
  /^(?:\x1b\]|\x9d)\d+;(?:.*;)?\?(?:[;\x07\x9c]|\x1b\\)/,
  // A setting or a capability (DECRQSS, XTGETTCAP).
  /^(?:\x1bP|\x90)[$+]q/,
  // Whether it shows images (kitty).
  /^(?:\x1b_|\x9f)G(?:[^;]*,)?a=q/,
];

/** "Who are you?", in C0. */
const ENQUIRY = /\x05/g;

/** What is longer is no query. A sequence may come in pieces: so much of one is held back. */
const MAX_QUERY_LENGTH = 4096;

/**
 * Yields the output of a command with a terminal as another terminal may show it: up to the piece `newest`
 * without queries. A terminal that was there then has answered them, and a second answer would be typed
 * into whatever reads the keyboard now. Which of them found a terminal is not known.
 *
 * @returns Takes the pieces in order.
 */
export function withoutOldQueries(newest: number): (piece: ExecStdout) => string {
  let held = "";
  return ({ output, sequence }) => {
    let text = held + output;
    held = "";
    if (sequence > newest) return text;
    if (sequence < newest) {
      const { 0: begun = "" } = UNFINISHED_SEQUENCE.exec(text) ?? [];
      if (begun.length <= MAX_QUERY_LENGTH) held = begun;
      text = text.slice(0, text.length - held.length);
    }
    return text
      .replaceAll(SEQUENCES, (sequence) => {
        return QUERIES.some((query) => query.test(sequence)) ? "" : sequence;
      })
      .replaceAll(ENQUIRY, "");
  };
}
