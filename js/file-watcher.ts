import { onAbort, throwIfAborted } from "./abort.js";
import type { Batches, FileChange } from "./core/sandpipe.js";
import type { AbortSignal } from "./platform.js";
import { settle } from "./settle.js";
import { EventStream } from "./stream.js";

/** Changes in a directory, as they happen. Leaving the loop over it early ends the watching. */
export class FileWatcher implements AsyncIterableIterator<FileChange> {
  /**
   * Resolves when all watches are set: what changes from then on is told, also where nobody has begun to read. It rejects
   * where the directory can't be watched, and so does the iteration then.
   */
  readonly ready: Promise<void>;
  readonly #changes: EventStream<FileChange>;
  readonly #close: () => void;

  /** @internal */
  constructor(batches: Batches<FileChange>, signal: AbortSignal | undefined) {
    const close = (): void => {
      batches.close();
    };
    const endListening = onAbort(signal, close);
    const connected = settle(batches.next()).finally(() => {
      endListening();
      throwIfAborted(signal);
    });
    this.ready = connected.then(() => undefined);
    // Whoever iterates is told, too.
    this.ready.catch(() => undefined);
    this.#changes = new EventStream(() => batches, signal);
    this.#close = close;
    if (signal?.aborted === true) close();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<FileChange, undefined>> {
    await this.ready;
    return this.#changes.next();
  }

  /** Ends the watching. `for await` calls it when it is left early. */
  return(): Promise<IteratorResult<FileChange, undefined>> {
    // Where nobody has begun to read, too.
    this.#close();
    return this.#changes.return();
  }
}
