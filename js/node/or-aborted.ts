/**
 * What a promise resolves, or a rejection with the signal's reason as soon as that is aborted: for a call that takes no signal, and which
 * goes on.
 */
export async function orAborted<T>(
  work: Promise<T>,
  signal: globalThis.AbortSignal | undefined,
): Promise<T> {
  if (signal === undefined) return await work;
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = (): void => {
      reject(signal.reason as Error);
    };
  });
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
