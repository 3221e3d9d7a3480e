import type { WriteStream } from "node:tty";

/** stdout or stderr of this process. It takes text no faster than its reader does. */
export class OutputWriter {
  readonly #stream: NodeJS.WriteStream;
  readonly #onFailure: (error: NodeJS.ErrnoException) => void;

  /** @param onFailure Called when it can't be written to, also more than once. */
  constructor(
    stream: NodeJS.WriteStream,
    onFailure: (error: NodeJS.ErrnoException) => void = () => undefined,
  ) {
    this.#stream = stream;
    this.#onFailure = onFailure;
    // Without a listener it would be a crash.
    stream.on("error", onFailure);
    unblock(stream);
  }

  /** Resolves when the system has all of the text, or will never take it. */
  write(text: string): Promise<void> {
    if (text === "") return Promise.resolve();
    return new Promise((resolve) => {
      this.#stream.write(text, (error) => {
        // Known before whoever wrote goes on.
        if (error) this.#onFailure(error);
        resolve();
      });
    });
  }
}

/**
 * Node writes to a terminal in blocking mode: while one is held (Ctrl+S) or its window hangs, no
 * signal would be heard. There is no public way to say otherwise.
 */
function unblock(stream: NodeJS.WriteStream): void {
  if (!stream.isTTY) return;
  const { _handle: handle } = stream as unknown as WriteStream & {
    _handle?: { setBlocking?(blocking: boolean): void };
  };
  handle?.setBlocking?.(false);
}

/** What went wrong and what to do, as stderr has it: on one line, with the program's name. */
export function errorLine(message: string): string {
  return `sandpipe: ${escaped(message.replaceAll(/\s*[\r\n]+\s*/g, " ").trim())}\n`;
}

/** Control characters, and those that change the direction or the line of what follows. */
const INVISIBLE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

const ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** A text as one line, with nothing in it that a terminal would act upon. */
export function escaped(text: string): string {
  return text.replaceAll(INVISIBLE, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return ESCAPES[character] ?? (code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, "0")}`);
  });
}

/** A value as JSON, for people to read as well. */
export function json(value: unknown): string {
  return `${inert(JSON.stringify(value, undefined, 2))}\n`;
}

/** The same on one line. */
export function jsonLine(value: unknown): string {
  return `${inert(JSON.stringify(value))}\n`;
}

/** What JSON leaves as it is, and a terminal may act upon: C1 controls, and changes of direction. */
const ACTIVE = /[\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;

function inert(text: string): string {
  return text.replaceAll(ACTIVE, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** Arguments as a POSIX shell reads them back, byte for byte. */
export function shellQuote(args: readonly string[]): string {
  return args.map(quoted).join(" ");
}

function quoted(arg: string): string {
  // `=` and `~` mean something at the beginning of a command and of a word.
  return /^[\w@%+:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`;
}
