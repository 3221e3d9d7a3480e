import type { Batches } from "./core/sandpipe.js";
import type { AbortSignal } from "./platform.js";

/** How to follow a stream. */
export interface StreamOptions {
  /** Ends the stream when it is aborted: the iteration throws the signal's reason. */
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
  readonly #onAbort = (): void => {
    this.#batches?.close();
  };
  #batches: Batches<T> | undefined;
  #ended = false;
  #batch: readonly T[] = [];
  #index = 0;
  /** The newest call of `next` that is not settled: the next one waits for it. */
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
    if (this.#last === undefined && this.#signal?.aborted !== true) {
      const event = this.#take();
      if (event !== undefined) return Promise.resolve(event);
    }
    const go = (): Promise<IteratorResult<T, undefined>> => this.#step();
    const step = this.#last === undefined ? go() : this.#last.then(go, go);
    const settled = (): void => {
      if (this.#last === step) this.#last = undefined;
    };
    this.#last = step;
    step.then(settled, settled);
    return step;
  }

  /** Closes the connection. `for await` calls it when it is left early. */
  return(): Promise<IteratorResult<T, undefined>> {
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  async #step(): Promise<IteratorResult<T, undefined>> {
    try {
      while (!this.#ended) {
        this.#signal?.throwIfAborted();
        const event = this.#take();
        if (event !== undefined) return event;
        const batch = await this.#connect().next();
        this.#signal?.throwIfAborted();
        if (batch === undefined) break;
        this.#batch = batch;
        this.#index = 0;
      }
    } catch (error) {
      this.#end();
      throw error;
    }
    this.#end();
    return { done: true, value: undefined };
  }

  /** The next event of the batch. */
  #take(): IteratorResult<T, undefined> | undefined {
    if (this.#index >= this.#batch.length) return undefined;
    return { done: false, value: this.#batch[this.#index++] as T };
  }

  #connect(): Batches<T> {
    if (this.#batches === undefined) {
      this.#batches = this.#open();
      this.#signal?.addEventListener("abort", this.#onAbort, { once: true });
    }
    return this.#batches;
  }

  #end(): void {
    this.#ended = true;
    this.#batch = [];
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#batches?.close();
  }
}
