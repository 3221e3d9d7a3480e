// @ts-check
/** The one place that the tarballs come from. */

import { pack } from "../installed-package.mjs";

/**
 * @param {string} folder where they are put
 * @returns {Promise<string[]>} their paths
 */
export async function packAll(folder) {
  const { filename } = await pack(folder);
  return [filename];
}
