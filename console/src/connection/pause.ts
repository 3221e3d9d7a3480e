/** How long an agent that could not be reached is left alone, in milliseconds. */
const PAUSE_MS = 2_000;

/** Waits before the agent is asked again, unless the page is left, or the browser says that it is online again. */
export function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, PAUSE_MS);
    addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}
