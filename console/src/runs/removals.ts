import type { Execs } from "sandpipe";
import { Store } from "../store.js";

/** How long a removal can be undone, in milliseconds. */
export const UNDO_MS = 6_000;

/** Runs that are not shown any more, and are deleted when it is too late to undo that. */
interface Removal {
  /** What it is called: a command, or how many runs. */
  name: string;
  ids: ReadonlySet<string>;
}

/** Removes runs: from sight at once, from the agent when the time to undo it has passed. */
export class Removals {
  /** The ids of those that are not shown. */
  readonly hidden = new Store<ReadonlySet<string>>(new Set());
  /** What can be undone. */
  readonly pending = new Store<Removal | undefined>(undefined);
  readonly error = new Store<unknown>(undefined);
  readonly #execs: Execs;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(execs: Execs) {
    this.#execs = execs;
  }

  remove(name: string, ids: readonly string[]): void {
    this.finish();
    this.error.set(undefined);
    const removal = { name, ids: new Set(ids) };
    this.pending.set(removal);
    this.hidden.update((before) => new Set([...before, ...ids]));
    this.#timer = setTimeout(() => {
      this.finish();
    }, UNDO_MS);
  }

  undo(): void {
    const ids = this.#end()?.ids;
    if (ids !== undefined) this.#show(ids);
  }

  /** It is too late to undo it. */
  finish(): void {
    const removal = this.#end();
    if (removal !== undefined) void this.#delete([...removal.ids]);
  }

  #end(): Removal | undefined {
    clearTimeout(this.#timer);
    const removal = this.pending.value;
    this.pending.set(undefined);
    return removal;
  }

  async #delete(ids: readonly string[]): Promise<void> {
    // A browser has few connections.
    const queue = [...ids];
    const worker = async () => {
      for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
        try {
          await this.#execs.delete(id);
        } catch (error) {
          // It is still there, and is to be seen.
          this.#show(new Set([id]));
          this.error.set(error);
        }
      }
    };
    await Promise.all([worker(), worker(), worker()]);
  }

  #show(ids: ReadonlySet<string>): void {
    this.hidden.update((before) => new Set([...before].filter((id) => !ids.has(id))));
  }
}
