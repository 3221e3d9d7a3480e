// @ts-check
/** What the main job has to find, from the same scripts without an agent. */

import { spawnSync } from "node:child_process";
import { hash, scripts } from "./inside/job.mjs";

/** @typedef {import("./inside/job.mjs").Found} Found */

/** @returns {Found} */
export function findExpected() {
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
 * Where what was found differs from what is expected; pure.
 *
 * @param {unknown} found
 * @param {unknown} expected
 * @param {string} [place]
 * @returns {string[]}
 */
export function differences(found, expected, place = "") {
  if (typeof expected === "object" && expected !== null) {
    if (typeof found !== "object" || found === null) return [`${place || "it"} is missing`];
    const fields = /** @type {Record<string, unknown>} */ (found);
    return Object.entries(expected).flatMap(([name, value]) =>
      differences(fields[name], value, place === "" ? name : `${place}.${name}`),
    );
  }
  if (found === expected) return [];
  return [`${place} is ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`];
}
