// @ts-check
/** A platform that Node.js only says it runs on. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";

const PRETEND = `
  const [platform, arch] = process.env.PRETENDED_PLATFORM.split("-");
  Object.defineProperty(process, "platform", { value: platform });
  Object.defineProperty(process, "arch", { value: arch });
`;

/**
 * The variables with which Node.js says that it runs on a platform.
 *
 * @param {string} folder for the script that does it
 * @param {string} platform such as `darwin-arm64`
 */
export async function pretending(folder, platform) {
  const script = join(folder, "pretend.cjs");
  await writeFile(script, PRETEND);
  return { PRETENDED_PLATFORM: platform, NODE_OPTIONS: `--require=${script}` };
}
