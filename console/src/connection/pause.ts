/** How long an agent that could not be reached is left alone, in milliseconds. */
const PAUSE_MS = 2_000;

/**
 * Waits before the agent is asked again, unless the page is left, the browser says that it is online again, or
 * somebody wants it now.
 */
export function pause(signal: AbortSignal, ms = PAUSE_MS, now?: EventTarget): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      now?.removeEventListener("now", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    signal.addEventListener("abort", done);
    now?.addEventListener("now", done);
  });
}
