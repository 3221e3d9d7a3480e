// @ts-check
import { rm } from "node:fs/promises";
import { startTestAgent } from "../agent.mjs";
import { temporaryFolder } from "../installed-package.mjs";
import { Visits } from "./browsers/visits.mjs";
import { findTruth } from "./truth.mjs";

/**
 * What all rows share: one agent, the packed packages, the truth, and the browsers.
 *
 * @template T
 * @param {"registry" | "workspace"} tools where what a row installs beside the package comes from
 * @param {(folder: string) => Promise<import("./packages.mjs").Tarballs>} pack makes the tarballs
 * @param {(surroundings: import("./row.mjs").Surroundings) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withSurroundings(tools, pack, work) {
  const folder = await temporaryFolder();
  const agent = await startTestAgent({ allowOrigin: "*" });
  const visits = await new Visits().start();
  try {
    const tarballs = await pack(folder);
    const { url, token } = agent;
    return await work({ agent: { url, token }, tarballs, truth: findTruth(), visits, tools });
  } finally {
    await visits.close();
    await agent.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
