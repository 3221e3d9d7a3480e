import type { ExecItem, Execs } from "sandpipe";
import { Store } from "../store.js";
import { keep, kept } from "../tab-storage.js";
import { readArrangement, type Arrangement } from "./arrangement.js";
import { Output } from "./output.js";

/** The open outputs, and how they are arranged: that is kept over a reload. */
export class Outputs {
  readonly arrangement: Store<Arrangement>;
  readonly #execs: Execs;
  readonly #outputs = new Map<string, Output>();

  constructor(execs: Execs) {
    this.#execs = execs;
    this.arrangement = new Store(readArrangement(kept("outputs")));
  }

  change(change: (before: Arrangement) => Arrangement): void {
    this.arrangement.update(change);
    const { open } = this.arrangement.value;
    keep("outputs", this.arrangement.value);
    for (const [id, output] of this.#outputs) {
      if (open.includes(id)) continue;
      output.close();
      this.#outputs.delete(id);
    }
  }

  /** Nothing is read any more. */
  close(): void {
    for (const output of this.#outputs.values()) output.close();
    this.#outputs.clear();
  }

  /** The output of a run, as it is now. */
  of(item: ExecItem): Output {
    let output = this.#outputs.get(item.id);
    if (output === undefined) {
      output = new Output(this.#execs, item);
      this.#outputs.set(item.id, output);
    }
    output.item = item;
    return output;
  }
}
