// @ts-check
/** What the main job has to find, from the same scripts without an agent. */

import { spawnSync } from "node:child_process";
import { hash, scripts } from "./inside/job.mjs";

/** @typedef {import("./inside/job.mjs").Found} Found */

/** @returns {Found} */
export function findTruth() {
  const large = run(scripts.large);
  return {
    exec: run(scripts.exec.replace("echo oops >&2", "echo oops")),
    // 130: as after Ctrl+C. 143: by SIGTERM.
    abort: { name: "AbortError", exitCode: 130, output: "up\n", ended: 143 },
    leave: { beginning: "line 1\nline 2\nline 3\n", status: "RUNNING", ended: 143 },
    large: {
      exitCode: large.exitCode,
      length: large.output.length,
      hash: hash(large.output),
    },
  };
}

/** @param {string} script */
function run(script) {
  const options = /** @type {const} */ ({ encoding: "utf8", maxBuffer: 2 ** 26 });
  const { status, stdout, error } = spawnSync("sh", ["-c", script], options);
  if (status === null) throw error ?? new Error(`a signal ended: ${script}`);
  return { exitCode: status, output: stdout };
}

/**
 * Where what was found differs from the truth; pure.
 *
 * @param {unknown} found
 * @param {unknown} truth
 * @param {string} [place]
 * @returns {string[]}
 */
export function differences(found, truth, place = "") {
  if (typeof truth === "object" && truth !== null) {
    if (typeof found !== "object" || found === null) return [`${place || "it"} is missing`];
    const fields = /** @type {Record<string, unknown>} */ (found);
    return Object.entries(truth).flatMap(([name, value]) =>
      differences(fields[name], value, place === "" ? name : `${place}.${name}`),
    );
  }
  if (found === truth) return [];
  return [`${place} is ${JSON.stringify(found)}, not ${JSON.stringify(truth)}`];
}
