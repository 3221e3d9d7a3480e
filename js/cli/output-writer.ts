import type { WriteStream } from "node:tty";

/** stdout or stderr of this process. It takes output no faster than its reader does. */
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

  /** Resolves when the system has all of the text or the bytes, or will never take them. */
  write(output: string | Uint8Array): Promise<void> {
    if (output.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#stream.write(output, (error) => {
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
