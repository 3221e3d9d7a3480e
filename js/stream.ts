import { onAbort, throwIfAborted } from "./abort.js";
import type { Batches } from "./core/sandpipe.js";
import type { AbortSignal } from "./platform.js";
import { settle } from "./settle.js";

/** How to follow a stream. */
export interface StreamOptions {
  /** Ends the stream when it is aborted: the iteration throws {@link InterruptedError}. */
  signal?: AbortSignal;
}

/**
 * A stream of the core's as JS iterates it: batch by batch from the core, one by one to the caller.
 *
 * Nothing is read ahead: the core is asked for the next batch when the last one is used up.
 */
export class EventStream<T> implements AsyncIterableIterator<T> {
  readonly #open: () => Batches<T>;
  readonly #signal: AbortSignal | undefined;
  #endListening = (): void => undefined;
  #batches: Batches<T> | undefined;
  #ended = false;
  #batch: readonly T[] = [];
  #index = 0;
  /** How many calls of `next` are not settled, and the newest one: the next one waits for it. */
  #pending = 0;
  #last: Promise<unknown> | undefined;

  constructor(open: () => Batches<T>, signal?: AbortSignal) {
    this.#open = open;
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    // Most events are there already, and should not cost more than a promise.
    if (this.#pending === 0 && this.#signal?.aborted !== true) {
      const event = this.#take();
      if (event !== undefined) return Promise.resolve(event);
    }
    const step = this.#step(this.#last);
    this.#last = step;
    return step;
  }

  /** Closes the connection. `for await` calls it when it is left early. */
  return(): Promise<IteratorResult<T, undefined>> {
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  async #step(last: Promise<unknown> | undefined): Promise<IteratorResult<T, undefined>> {
    this.#pending += 1;
    try {
      if (this.#pending > 1) await last?.catch(() => undefined);
      while (!this.#ended) {
        throwIfAborted(this.#signal);
        const event = this.#take();
        if (event !== undefined) return event;
        const batches = this.#batches ?? (await settle(this.#connect()));
        const batch = await batches.next();
        throwIfAborted(this.#signal);
        if (batch === undefined) break;
        this.#batch = batch;
        this.#index = 0;
      }
    } catch (error) {
      this.#end();
      throw error;
    } finally {
      this.#pending -= 1;
    }
    this.#end();
    return { done: true, value: undefined };
  }

  /** The next event of the batch. */
  #take(): IteratorResult<T, undefined> | undefined {
    if (this.#index >= this.#batch.length) return undefined;
    return { done: false, value: this.#batch[this.#index++] as T };
  }

  async #connect(): Promise<Batches<T>> {
    const batches = (this.#batches = this.#open());
    this.#endListening = onAbort(this.#signal, () => {
      batches.close();
    });
    return batches;
  }

  #end(): void {
    this.#ended = true;
    this.#batch = [];
    this.#endListening();
    this.#batches?.close();
  }
}
