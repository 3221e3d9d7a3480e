import { isSandpipeError } from "./core/errors.js";

/**
 * What an error says happened, without the hint at the end of its message: that is for callers of the
 * package. Whoever else reads the message is given advice of their own.
 */
export function factsOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const { hint } = isSandpipeError(error) ? error : {};
  if (hint === undefined || !message.endsWith(hint)) return message;
  return message.slice(0, -hint.length).replace(/\. $/, "");
}
