/** How long an answer that has said all may take to end, in milliseconds. */
const FINISH_MS = 1000;

/** A reader of a body; Node's lets the process end although the rest has not come. */
interface Reader {
  read(): Promise<{ done?: boolean }>;
  unref?(): void;
}

/**
 * Reads what is left of an answer that has said all there is to say: its connection serves the next request
 * then, and no browser shows the request as one that failed. An answer that does not end is ended.
 */
export async function finish(reader: Reader, controller: AbortController): Promise<void> {
  const over: unknown = setTimeout(() => {
    controller.abort();
  }, FINISH_MS);
  // Node's timers are objects.
  (over as { unref?(): void }).unref?.();
  reader.unref?.();
  try {
    while ((await reader.read()).done !== true);
  } catch {
    // Nobody needs it.
  } finally {
    clearTimeout(over as number);
  }
}
