// @ts-check
/** Does the main job in a program that is told of the agent by its environment, and prints what it found. */

import { job } from "./job.mjs";

/** @param {import("sandpipe").Connect} connect */
export async function runInProgram(connect) {
  const { COMPAT_URL: url = "", COMPAT_TOKEN: token = "" } = process.env;
  console.log(JSON.stringify(await job(connect, { url, token })));
}
