// @ts-check
import { readFileSync } from "node:fs";

const LAST_LINES = 40;

/**
 * The last lines of a log, below a heading that names it; empty where it is.
 *
 * @param {string} log
 */
export function endOf(log) {
  const text = readFileSync(log, "utf8").trimEnd();
  if (text === "") return "";
  return `The end of ${log}:\n${text.split("\n").slice(-LAST_LINES).join("\n")}`;
}
