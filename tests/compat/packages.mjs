// @ts-check
/** The one place that the tarballs come from. */

import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { AGENT_TARGETS } from "../../scripts/build/agent-targets.mjs";
import { root } from "../../scripts/project.mjs";
import { pack } from "../support/installed-package.mjs";

const execute = promisify(execFile);

/** @typedef {Record<string, string>} Tarballs their paths, by the names of the packages */

/**
 * Packs every package.
 *
 * @param {string} folder where they are put
 */
export async function packAll(folder) {
  await execute("npm", ["run", "--silent", "pack", "--", folder], { cwd: root });
  return packed(folder);
}

/**
 * Packs the root package alone, which needs no agent to be built.
 *
 * @param {string} folder where it is put
 * @returns {Promise<Tarballs>}
 */
export async function packRoot(folder) {
  return { sandpipe: (await pack(folder)).filename };
}

/**
 * What `npm run pack` has put into a folder.
 *
 * @param {string} folder
 * @returns {Promise<Tarballs>}
 */
export async function packed(folder) {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".tgz"));
  const find = (/** @type {RegExp} */ pattern) => {
    const file = files.find((name) => pattern.test(name));
    if (file === undefined) throw new Error(`${folder} has no tarball ${pattern}`);
    return join(folder, file);
  };
  const agents = AGENT_TARGETS.map(({ os, cpu }) => [
    `@sandpipe/agent-${os}-${cpu}`,
    find(new RegExp(`^sandpipe-agent-${os}-${cpu}-`)),
  ]);
  return { sandpipe: find(/^sandpipe-\d/), ...Object.fromEntries(agents) };
}

/**
 * Those that this platform installs.
 *
 * @param {Tarballs} tarballs
 */
export function installable(tarballs) {
  const platform = `-${process.platform}-${process.arch}`;
  return Object.entries(tarballs)
    .filter(([name]) => name === "sandpipe" || name.endsWith(platform))
    .map(([, path]) => path);
}
