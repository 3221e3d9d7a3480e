import type { WriteStream } from "node:tty";

/** stdout or stderr of this process. It takes text no faster than its reader does. */
export class Outlet {
  readonly #stream: NodeJS.WriteStream;

  /** @param onFailure Called when it can't be written to. */
  constructor(stream: NodeJS.WriteStream, onFailure?: (error: NodeJS.ErrnoException) => void) {
    this.#stream = stream;
    // Without a listener it would be a crash.
    stream.on("error", (error: NodeJS.ErrnoException) => onFailure?.(error));
    unblock(stream);
  }

  /** Resolves when the system has all of the text, or will never take it. */
  write(text: string): Promise<void> {
    if (text === "") return Promise.resolve();
    return new Promise((resolve) => {
      this.#stream.write(text, () => {
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
