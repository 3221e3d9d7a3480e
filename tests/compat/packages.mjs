// @ts-check
/** The one place that the tarballs come from. */

import { pack } from "../installed-package.mjs";

/**
 * Packs all packages.
 *
 * @param {string} folder where they are put
 * @returns {Promise<Record<string, string>>} by their names
 */
export async function packAll(folder) {
  const { filename } = await pack(folder);
  return { sandpipe: filename };
}

/**
 * Those that this platform installs.
 *
 * @param {Record<string, string>} tarballs
 */
export function installable(tarballs) {
  const platform = `-${process.platform}-${process.arch}`;
  return Object.keys(tarballs)
    .filter((name) => name === "sandpipe" || name.endsWith(platform))
    .flatMap((name) => tarballs[name] ?? []);
}
