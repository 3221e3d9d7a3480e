import type { Execs } from "sandpipe";
import { Store } from "../store.js";

/** How long a command may take to end after SIGTERM, in milliseconds. */
export const GRACE = 10_000;

/** How far the stopping of a run has come. */
export type Stopping =
  /** `killAt`: when it is killed if it has not ended, in milliseconds. */
  | { phase: "terminating"; killAt: number }
  | { phase: "killing" }
  | { phase: "stopped"; forced: boolean }
  | { phase: "failed"; error: unknown };

/** The button that stops: its name, and whether pressing it does anything. */
export function stopButton(stopping: Stopping | undefined): { name: string; disabled: boolean } {
  switch (stopping?.phase) {
    case "terminating":
      return { name: "Kill now", disabled: false };
    case "killing":
      return { name: "Killing…", disabled: true };
    default:
      return { name: "Stop", disabled: false };
  }
}

/** Stops runs: SIGTERM to the whole process group and SIGKILL after {@link GRACE}; or at the second press. */
export class Stops {
  readonly store = new Store<ReadonlyMap<string, Stopping>>(new Map());
  readonly #execs: Execs;
  readonly #forces = new Map<string, AbortController>();

  constructor(execs: Execs) {
    this.#execs = execs;
  }

  press(id: string): void {
    const force = this.#forces.get(id);
    if (force !== undefined) {
      force.abort();
      this.#set(id, { phase: "killing" });
      return;
    }
    const controller = new AbortController();
    this.#forces.set(id, controller);
    this.#set(id, { phase: "terminating", killAt: Date.now() + GRACE });
    void this.#execs
      .terminate(id, { graceMs: GRACE, forceSignal: controller.signal })
      .then(
        ({ forced }) => {
          this.#set(id, { phase: "stopped", forced });
        },
        (error: unknown) => {
          this.#set(id, { phase: "failed", error });
        },
      )
      .finally(() => this.#forces.delete(id));
  }

  #set(id: string, stopping: Stopping): void {
    this.store.update((before) => new Map(before).set(id, stopping));
  }
}
