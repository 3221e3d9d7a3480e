import type { ExecItem, Execs } from "sandpipe";
import { pause } from "../connection/pause.js";
import { pauseAfter, stateAfter, type Connection } from "../connection/state.js";
import { Store } from "../store.js";

/**
 * How long the agent may be silent, in milliseconds: it says something three times as often, also where nothing changes. One that is busy
 * does, for its commands have no part in that; one that hangs, or whose network is gone without a word, does not.
 */
const MAX_SILENCE_MS = 1_500;

/** All runs as the agent tells them, and how the page and the agent stand. It goes on until it is closed. */
export class LiveList {
  /** Newest first, as the agent lists them; undefined until then. */
  readonly items = new Store<readonly ExecItem[] | undefined>(undefined);
  readonly connection = new Store<Connection>({ state: "connecting" });
  readonly #execs: Execs;
  readonly #closing = new AbortController();
  readonly #now = new EventTarget();
  /** Those that this page created and that no list had yet. */
  readonly #created = new Map<string, ExecItem>();

  constructor(execs: Execs) {
    this.#execs = execs;
    void this.#follow();
  }

  /** A run that this page has created: its answer may come before the list has it. */
  add(item: ExecItem): void {
    const items = this.items.value ?? [];
    if (items.some(({ id }) => id === item.id)) return;
    this.#created.set(item.id, item);
    this.items.set([item, ...items]);
  }

  /** Ends the pause before the next attempt. */
  tryNow(): void {
    this.#now.dispatchEvent(new Event("now"));
  }

  close(): void {
    this.#closing.abort();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing;
    let failures = 0;
    for (;;) {
      let error: unknown;
      try {
        const lists = this.#execs.streamList({ signal, maxSilenceMs: MAX_SILENCE_MS });
        for await (const { execs } of lists) {
          failures = 0;
          this.#take(execs);
        }
      } catch (cause) {
        error = cause;
      }
      if (this.#closing.signal.aborted) return;
      const next = stateAfter(error, this.connection.value, Date.now());
      this.connection.set(next);
      if (next.state === "refused") return;
      const ms = pauseAfter(++failures);
      this.connection.set({ ...next, next: Date.now() + ms });
      await pause(signal, ms, this.#now);
      this.connection.set(next);
    }
  }

  #take(execs: readonly ExecItem[]): void {
    let items = execs;
    if (this.#created.size > 0) {
      const listed = new Set(execs.map(({ id }) => id));
      for (const id of listed) this.#created.delete(id);
      // What was created is in the next list: one that is made before may still be under way.
      items = [...this.#created.values(), ...execs];
      this.#created.clear();
    }
    this.items.set(items);
    if (this.connection.value.state !== "live") this.connection.set({ state: "live" });
  }
}
