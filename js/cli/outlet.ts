import type { WriteStream } from "node:tty";

/** stdout or stderr of this process. It takes text no faster than its reader does. */
export class Outlet {
  readonly #stream: NodeJS.WriteStream;
  #failed = false;

  /** @param onFailure Called once, when it can't be written to any more. */
  constructor(stream: NodeJS.WriteStream, onFailure?: (error: NodeJS.ErrnoException) => void) {
    this.#stream = stream;
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (!this.#failed) onFailure?.(error);
      this.#failed = true;
    });
    unblock(stream);
  }

  /** Resolves when the system has all of the text, or will never take it. */
  write(text: string): Promise<void> {
    if (this.#failed || text === "") return Promise.resolve();
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
