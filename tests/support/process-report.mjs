// @ts-check
/** What processes are doing, as a text for an error: a test that waits in vain often waits for one. */

import { readdirSync, readFileSync } from "node:fs";

/**
 * @typedef {object} Process
 * @property {string} pid
 * @property {string} parent
 * @property {string} state of proc_pid_stat(5): R runs, S sleeps, D waits for a disk, T is stopped, Z is a zombie
 * @property {string} place where in the kernel it sleeps, or `-`
 * @property {string} command its command line, or its name in brackets where it has none
 */

/** How many processes are listed at most. */
const MAX_PROCESSES = 40;
/** How much of a command line is shown, in characters. */
const MAX_COMMAND = 160;

/**
 * Lists the processes that descend from a process, and those whose environment has one of the
 * variables. A process that lost its parent is found by such a variable alone.
 *
 * @param {{ root?: number | string, variables?: Iterable<string> }} [options] `root`: by default,
 * this process, which is not listed itself
 */
export function processReport({ root = process.pid, variables = [] } = {}) {
  const all = processes();
  const names = [...variables];
  const descendants = descendantsOf(String(root), all);
  const listed = all.filter(
    (one) => descendants.has(one.pid) || (names.length > 0 && hasVariable(one.pid, names)),
  );
  if (listed.length === 0) return `no processes of ${root}`;
  const lines = listed.slice(0, MAX_PROCESSES).map(lineOf);
  const rest = listed.length - lines.length;
  return [
    lineOf({ pid: "PID", parent: "PARENT", state: "STATE", place: "WAITS IN", command: "COMMAND" }),
    ...lines,
    ...(rest > 0 ? [`and ${rest} more`] : []),
  ].join("\n");
}

/** @param {Process} process */
function lineOf({ pid, parent, state, place, command }) {
  const line = `${pid.padStart(8)}${parent.padStart(9)}  ${state.padEnd(5)}  ${place.padEnd(24)}  `;
  return line + command;
}

/** Lists all processes, by their ids. One that ends meanwhile is left out. */
function processes() {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids
    .sort((one, other) => Number(one) - Number(other))
    .flatMap((pid) => {
      const found = read(pid);
      return found === undefined ? [] : [found];
    });
}

/**
 * @param {string} pid
 * @returns {Process | undefined}
 */
function read(pid) {
  const stat = contentOf(pid, "stat");
  // The name is in parentheses, and may hold any character.
  const [, name = "", state = "", parent = ""] = /^\d+ \((.*)\) (\S) (\d+) /s.exec(stat) ?? [];
  if (parent === "") return undefined;
  const place = contentOf(pid, "wchan");
  const command = contentOf(pid, "cmdline").replace(/\0$/, "").replaceAll("\0", " ");
  return {
    ...{ pid, parent, state },
    place: place === "" || place === "0" ? "-" : place,
    command: oneLine(command === "" ? `[${name}]` : command, MAX_COMMAND),
  };
}

/** Reads a file of a process: nothing where the process is gone, or is another user's. @param {string} pid @param {string} file */
function contentOf(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

/** @param {string} pid @param {readonly string[]} names */
function hasVariable(pid, names) {
  const environment = contentOf(pid, "environ").split("\0");
  return environment.some((line) => names.includes(line.slice(0, line.indexOf("="))));
}

/** The ids of a process and of all that descend from it, parents first. @param {number} root */
export function processTree(root) {
  return [root, ...[...descendantsOf(String(root), processes())].map(Number)];
}

/** @param {string} root @param {readonly Process[]} all */
function descendantsOf(root, all) {
  const found = new Set([root]);
  // An id may be smaller than its parent's, once the ids have begun anew.
  for (let size = 0; size < found.size;) {
    size = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  found.delete(root);
  return found;
}

/**
 * Puts a text on one line, shortened to a length.
 *
 * @param {string} text
 * @param {number} length in characters
 */
export function oneLine(text, length) {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}
