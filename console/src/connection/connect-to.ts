import { connect, type Sandbox } from "sandpipe";
import type { Credentials } from "../sign-in/credentials.js";
import { shouldRetry } from "./retry.js";

/** Connects to an agent; it makes no request. */
export function connectTo(credentials: Credentials): Promise<Sandbox> {
  return connect({
    ...credentials,
    // `shouldRetry` says when it is enough.
    retry: { maxAttempts: 1_000_000, maxDelayMs: 5_000, shouldRetry },
  });
}
