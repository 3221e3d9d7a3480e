// @ts-check
import { rm } from "node:fs/promises";
import { startTestAgent } from "../support/agent.mjs";
import { temporaryFolder } from "../support/installed-package.mjs";
import { Visits } from "./browsers/visits.mjs";
import { findExpected } from "./expected.mjs";

/**
 * What all rows share: one agent, the packed packages, what is expected, and the browsers.
 *
 * @template T
 * @param {"registry" | "workspace"} tools where what a row installs beside the package comes from
 * @param {(folder: string) => Promise<import("./packages.mjs").Tarballs>} pack makes the tarballs
 * @param {(context: import("./row.mjs").RowContext) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withRowContext(tools, pack, work) {
  const folder = await temporaryFolder();
  const agent = await startTestAgent({ allowOrigin: "*" });
  const visits = await new Visits().start();
  try {
    const tarballs = await pack(folder);
    const { url, token } = agent;
    return await work({ agent: { url, token }, tarballs, expected: findExpected(), visits, tools });
  } finally {
    await visits.close();
    await agent.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
