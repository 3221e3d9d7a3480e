import { isSandpipeError } from "sandpipe";
import { messageOf } from "../message.js";

export const UNKNOWN_TOKEN = "The agent does not know this token.";

/** Why a sign-in failed, and which field is to be changed. */
export interface Refusal {
  field: "url" | "token";
  message: string;
}

/**
 * What to tell of a sign-in that failed.
 *
 * @param policyForbids The page's Content-Security-Policy kept it from asking that address.
 */
export function refusal(error: unknown, url: string, policyForbids: boolean): Refusal {
  if (policyForbids) {
    const message = `This page may only talk to the agent that serves it, not to ${url}. Open the console at that agent's own address.`;
    return { field: "url", message };
  }
  if (isSandpipeError(error, "http") && error.status === 401) {
    return { field: "token", message: UNKNOWN_TOKEN };
  }
  return { field: "url", message: messageOf(error) };
}
