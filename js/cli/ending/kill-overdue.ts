import { setTimeout as delay } from "node:timers/promises";

import { aborted } from "./aborted.js";

/** How long it may take to kill what is to be killed at once, in milliseconds. */
const PATIENCE_MS = 15_000;

/** Resolves when what was to be killed since `forced` was aborted has had its time for that. */
export async function killOverdue(forced: AbortSignal): Promise<void> {
  await aborted(forced);
  await delay(PATIENCE_MS);
}
