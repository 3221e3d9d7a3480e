import { isSandpipeError } from "sandpipe";
import { messageOf } from "../message.js";

/** How the page and the agent stand. */
export type Connection =
  | { state: "connecting" }
  | { state: "live" }
  /** It is tried again. */
  | { state: "lost" }
  /** The agent answers, and does not let the page in any more. */
  | { state: "refused"; reason: string };

/** The state after the live list broke off. */
export function stateAfter(error: unknown): Connection {
  if (isSandpipeError(error, "http") && (error.status === 401 || error.status === 403)) {
    return { state: "refused", reason: messageOf(error) };
  }
  return { state: "lost" };
}

export function describe(connection: Connection): string {
  switch (connection.state) {
    case "connecting":
      return "Connecting…";
    case "live":
      return "Connected";
    case "lost":
      return "Connection lost, trying again…";
    case "refused":
      return `Signed out by the agent: ${connection.reason}`;
  }
}
