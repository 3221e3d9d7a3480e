import { isSandpipeError, type RetryContext } from "sandpipe";

/** How often a request is tried; and a stream that breaks although the agent answers. */
const MAX_ATTEMPTS = 3;

/**
 * Whether to try again. An open output waits for an agent that is away for as long as it takes. The list
 * says by itself that it is cut off, and is opened anew.
 */
export function shouldRetry({ operation, attempt, error, willRetry }: RetryContext): boolean {
  if (operation === "stream list") return false;
  if (operation === "stream output") {
    return isSandpipeError(error, "network") || attempt <= MAX_ATTEMPTS;
  }
  return willRetry && attempt < MAX_ATTEMPTS;
}
