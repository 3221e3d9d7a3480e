import { isSandpipeError, type RetryContext } from "sandpipe";

/** How often a request is tried; and a stream that breaks although the agent answers. */
const MAX_ATTEMPTS = 3;

const PASSING = new Set([408, 429, 500, 502, 503, 504]);

/** The longest pause before another attempt, in milliseconds. */
export const MAX_DELAY_MS = 5_000;

/**
 * Whether to try again. An open output waits for an agent that is away for as long as it takes. The list
 * says by itself that it is cut off, and is opened anew.
 */
export function shouldRetry(context: RetryContext): boolean {
  const { operation, attempt, error, status } = context;
  if (operation === "stream list") return false;
  const unanswered = isSandpipeError(error, "network");
  if (operation === "stream output") return unanswered || attempt <= MAX_ATTEMPTS;
  return attempt < MAX_ATTEMPTS && (unanswered || (status !== undefined && PASSING.has(status)));
}

/** The pause after so many failures in a row, at least one, in milliseconds. */
export function delayAfter(failures: number): number {
  return Math.min(500 * 2 ** (failures - 1), MAX_DELAY_MS);
}
