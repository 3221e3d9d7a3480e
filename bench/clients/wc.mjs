// @ts-check
/** The same command by itself, its output counted by `wc`: what the pipe takes. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** @param {import("../targets.mjs").Target} target */
export async function connect({ command }) {
  const read = async () => {
    const script = ["-c", '"$@" | wc -c', "sh", ...command];
    return Number((await promisify(execFile)("sh", script)).stdout);
  };
  return { exec: read, stream: read };
}
