import { interruptedBy, onAbort, throwIfAborted } from "../abort.js";

/**
 * What a promise resolves, or a rejection with an `InterruptedError` as soon as that is aborted: for a call that takes no signal, and which
 * goes on.
 */
export async function orAborted<T>(
  work: Promise<T>,
  signal: globalThis.AbortSignal | undefined,
): Promise<T> {
  if (signal === undefined) return await work;
  // It goes on, and nobody may be there for its failure.
  work.catch(() => undefined);
  throwIfAborted(signal);
  let endListening = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    endListening = onAbort(signal, () => {
      reject(interruptedBy(signal));
    });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    endListening();
  }
}
