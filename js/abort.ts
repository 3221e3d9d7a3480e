// Signals of the caller's. One may be given to any number of calls at once: Node.js warns of a leak where more than ten listen to it.
import { InterruptedError } from "./core/errors.js";
import type { AbortSignal } from "./platform.js";

/** What listens to each signal, behind one listener of the platform's. */
const listeners = new WeakMap<AbortSignal, { all: Set<() => void>; run: () => void }>();

/** Calls a listener, once, when a signal is aborted, if it has not been. What it returns ends the listening. */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal === undefined) return () => undefined;
  let entry = listeners.get(signal);
  if (entry === undefined) {
    const all = new Set<() => void>();
    const run = (): void => {
      listeners.delete(signal);
      for (const one of all) one();
    };
    entry = { all, run };
    listeners.set(signal, entry);
    signal.addEventListener("abort", run, { once: true });
  }
  const { all, run } = entry;
  // The same function may listen for two calls.
  const own = (): void => {
    listener();
  };
  all.add(own);
  return () => {
    if (!all.delete(own) || all.size > 0) return;
    if (listeners.get(signal)?.all === all) listeners.delete(signal);
    signal.removeEventListener("abort", run);
  };
}

/** The error of a call whose signal was aborted. */
export function interruptedBy(signal: AbortSignal | undefined): InterruptedError {
  return new InterruptedError("interrupted", {
    cause: signal?.reason as unknown,
    output: "",
    exitCode: 130,
    forced: false,
  });
}

/** @throws {InterruptedError} A signal has been aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw interruptedBy(signal);
}
