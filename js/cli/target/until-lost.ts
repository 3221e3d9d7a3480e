import { isSandpipeError } from "../../errors.js";
import type { Execs } from "../../execs.js";

/**
 * Rejects when the agent can't be reached any more, also by the retries that a stream makes. It does not
 * resolve.
 */
export async function untilLost(execs: Execs): Promise<never> {
  const lists = execs.streamList();
  try {
    while ((await lists.next()).done !== true);
  } catch (error) {
    if (isSandpipeError(error, "network")) throw error;
  }
  return await new Promise<never>(() => undefined);
}
