// @ts-check
/** Shells of targets, each with the programs that its target has. */

import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";

import { localRuntime } from "sandpipe/node";

import { programsWithout, shellWith, temporaryDirectory } from "../support/target.mjs";

/** `busybox` is the only program of its target. @typedef {"dash" | "bash" | "busybox"} ShellName */

/** @type {readonly ShellName[]} */
export const SHELLS = ["dash", "bash", "busybox"];

/**
 * Makes a shell that does not find some programs, or finds others in their place.
 *
 * @param {ShellName} name
 * @param {string} directory a new one
 * @param {object} [options]
 * @param {readonly string[]} [options.without] names of programs that the shell does not find
 * @param {Record<string, string>} [options.programs] paths of programs that the shell finds, by
 * name
 */
export function shellOf(name, directory, { without = [], programs = {} } = {}) {
  const left = [...without, ...Object.keys(programs)];
  const found = name === "busybox" ? appletsWithout(left) : programsWithout(left);
  return shellWith(directory, { ...found, ...programs }, name === "busybox" ? "ash" : name);
}

/** @param {readonly string[]} left */
function appletsWithout(left) {
  const applets = execFileSync("busybox", ["--list"], { encoding: "utf8" }).trim().split("\n");
  const busybox = execFileSync("sh", ["-c", "command -v busybox"], { encoding: "utf8" }).trim();
  const names = applets.filter((name) => !left.includes(name));
  return Object.fromEntries(names.map((name) => [name, busybox]));
}

/** Opens this machine with nothing but busybox, for a suite. */
export async function openBusybox() {
  const directory = temporaryDirectory();
  const runtime = localRuntime({ shell: shellOf("busybox", directory) });
  return { runtime, close: () => rmSync(directory, { recursive: true }) };
}
