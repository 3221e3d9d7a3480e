// @ts-check
import { readFileSync } from "node:fs";

import { processesThat } from "../support/processes.mjs";

/**
 * Lists the shells on this machine that wait for output, or for the end of a process.
 *
 * @param {string} text a part of their script, such as the id of the process
 */
export function waitingScripts(text) {
  return processesThat((pid) => {
    const command = readFileSync(`/proc/${pid}/cmdline`, "latin1");
    return command.includes("while_read") && command.includes(text);
  });
}

/**
 * Changes a script that waits for 20 s at a time so that its wait never ends by itself.
 *
 * @param {string} script
 */
export const endless = (script) => script.replace(/^wait=\d+$/m, "wait=2147483647");
