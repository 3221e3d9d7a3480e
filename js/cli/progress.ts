import { performance } from "node:perf_hooks";

/** After how long a line says what is waited for, in milliseconds. */
const SHOW_AFTER_MS = 2000;

/**
 * Awaits something. If stderr is a terminal and it takes longer than a moment, a line there says what is
 * waited for, and goes when it is over.
 *
 * @param what What is waited for, or what says so anew each second.
 * @param over Aborted: nobody waits for it any more.
 */
export async function withProgress<T>(
  what: string | (() => string),
  work: Promise<T>,
  over: AbortSignal,
): Promise<T> {
  const { stderr } = process;
  if (!stderr.isTTY) return await work;
  const start = performance.now();
  let shown = false;
  const show = (): void => {
    const seconds = Math.floor((performance.now() - start) / 1000);
    const text = typeof what === "string" ? what : what();
    const line = `${text}: ${seconds} s`.slice(0, Math.max(stderr.columns - 1, 1));
    stderr.write(`\r${line}\x1b[K`);
    shown = true;
  };
  const end = (): void => {
    clearTimeout(showLater);
    clearInterval(repeat);
    if (shown) stderr.write("\r\x1b[K");
    shown = false;
  };
  let repeat: NodeJS.Timeout | undefined;
  const showLater = setTimeout(() => {
    show();
    repeat = setInterval(show, 1000);
  }, SHOW_AFTER_MS);
  over.addEventListener("abort", end, { once: true });
  try {
    return await work;
  } finally {
    over.removeEventListener("abort", end);
    end();
  }
}
