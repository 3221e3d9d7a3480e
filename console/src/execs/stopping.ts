import { useRef, useState } from "preact/hooks";
import type { Execs } from "sandpipe";

/** How far the stopping of an exec has come. */
export type Stopping =
  | { phase: "terminating" }
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

/** What to tell of it. */
export function stoppingText(stopping: Stopping | undefined): string {
  switch (stopping?.phase) {
    case "terminating":
      return "Told to end (SIGTERM). It is killed after 10 seconds.";
    case "killing":
      return "Being killed (SIGKILL).";
    case "stopped":
      return stopping.forced ? "Killed (SIGKILL)." : "Stopped (SIGTERM).";
    default:
      return "";
  }
}

/** Stops execs: SIGTERM to the whole process group and SIGKILL after 10 s; or at the second press. */
export function useStops(execs: Execs) {
  const [stops, setStops] = useState<ReadonlyMap<string, Stopping>>(new Map());
  const forces = useRef(new Map<string, AbortController>()).current;

  const set = (id: string, stopping: Stopping) => {
    setStops((before) => new Map(before).set(id, stopping));
  };
  const press = (id: string) => {
    const force = forces.get(id);
    if (force !== undefined) {
      force.abort();
      set(id, { phase: "killing" });
      return;
    }
    const controller = new AbortController();
    forces.set(id, controller);
    set(id, { phase: "terminating" });
    void execs
      .terminate(id, { forceSignal: controller.signal })
      .then(
        ({ forced }) => {
          set(id, { phase: "stopped", forced });
        },
        (error: unknown) => {
          set(id, { phase: "failed", error });
        },
      )
      .finally(() => forces.delete(id));
  };
  return { stoppingOf: (id: string) => stops.get(id), press };
}

export type Stops = ReturnType<typeof useStops>;
