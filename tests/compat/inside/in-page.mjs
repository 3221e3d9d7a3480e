// @ts-check
/* global location */
/**
 * Does the main job in a page that is told of the agent by its address's fragment, which no server sees, and
 * reports what it found to whoever opened it.
 */

import { job } from "./job.mjs";

/** @param {import("sandpipe").Connect} connect */
export async function runInPage(connect) {
  await report((agent) => job(connect, agent));
}

/** @param {(agent: import("./job.mjs").Agent) => Promise<unknown>} work */
export async function report(work) {
  const { agent, report } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
  const answer = await Promise.resolve(agent)
    .then(work)
    .then(
      (found) => ({ found }),
      (error) => ({ error: `${error}\n${error?.stack ?? ""}` }),
    );
  await fetch(report, { method: "POST", body: JSON.stringify(answer) });
}
