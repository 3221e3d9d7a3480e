import { connect, type Sandbox } from "sandpipe";
import type { Credentials } from "../sign-in/credentials.js";
import { MAX_DELAY_MS, shouldRetry } from "./retry.js";

/** Connects to an agent; it makes no request. */
export function connectTo(credentials: Credentials): Promise<Sandbox> {
  return connect({
    ...credentials,
    // `shouldRetry` says when it is enough.
    retry: { maxAttempts: 1_000_000, maxDelayMs: MAX_DELAY_MS, shouldRetry },
  });
}
