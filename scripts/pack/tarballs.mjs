// @ts-check
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { mustRun } from "../child-process.mjs";
import { step } from "../progress.mjs";
import { dist, target } from "../project.mjs";
import { buildAgentPackage } from "./agent-package.mjs";
import { AGENT_TARGETS } from "./agent-targets.mjs";
import { writeServerJson } from "./server-json.mjs";

/** Where the tests of the packages have them. */
export const testedTarballs = join(target, "tarballs");

/**
 * Packs the root package, which has been built, and those of the agent, which are built as needed. The MCP
 * registry's server.json is put beside them.
 *
 * @param {string} folder where the tarballs are put
 */
export async function packAll(folder) {
  const packages = [dist];
  for (const target of AGENT_TARGETS) packages.push(await buildAgentPackage(target));
  mkdirSync(folder, { recursive: true });
  await step("tarballs", () =>
    mustRun("npm", ["pack", "--loglevel=error", "--pack-destination", folder, ...packages]),
  );
  writeServerJson(folder);
}
