import { isSandpipeError } from "sandpipe";
import { adviceFor, messageOf } from "../message.js";
import { UNKNOWN_TOKEN } from "../sign-in/refusal.js";

/** How the page and the agent stand. Times are milliseconds. */
export type Connection =
  | { state: "connecting" }
  | { state: "live" }
  /** It has not been live yet. `next`: when it is tried again; undefined while it is. */
  | { state: "unreachable"; reason: string; next?: number }
  | { state: "lost"; since: number; next?: number }
  /** The agent answers, and does not let the page in any more. */
  | { state: "refused"; reason: string };

/** The state after the live list broke off. */
export function stateAfter(
  error: unknown,
  before: Connection,
  now: number,
): Exclude<Connection, { state: "connecting" | "live" }> {
  if (isSandpipeError(error, "http") && (error.status === 401 || error.status === 403)) {
    return { state: "refused", reason: error.status === 401 ? UNKNOWN_TOKEN : messageOf(error) };
  }
  if (before.state === "connecting" || before.state === "unreachable") {
    return { state: "unreachable", reason: unreachableReason(error) };
  }
  return { state: "lost", since: before.state === "lost" ? before.since : now };
}

/** Why nothing has come of an agent yet; where nothing has answered, what to do. Empty where the list just ended. */
function unreachableReason(error: unknown): string {
  if (error === undefined) return "";
  const advice = isSandpipeError(error, "network") ? adviceFor(error) : undefined;
  return advice ?? messageOf(error);
}

/** The pauses between attempts, in milliseconds; the last one again and again. */
const PAUSES = [1_000, 2_000, 3_000, 5_000];

/** How long to wait before an attempt, after so many failures in a row. */
export function pauseAfter(failures: number): number {
  return PAUSES[Math.min(failures, PAUSES.length) - 1] ?? 0;
}

/** A few words for the head of the page. */
export function describe(connection: Connection): string {
  switch (connection.state) {
    case "connecting":
      return "Connecting…";
    case "live":
      return "Connected";
    case "unreachable":
      return "Not connected";
    case "lost":
      return "Connection lost";
    case "refused":
      return "Signed out by the agent";
  }
}

/** When the next attempt is made, in words; no line ends between a number and its unit. */
export function attemptText(next: number | undefined, now: number): string {
  const seconds = next === undefined ? 0 : Math.ceil((next - now) / 1000);
  return seconds <= 0 ? "Trying again…" : `Next attempt in ${seconds}\u00A0s.`;
}
