// @ts-check
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

/** An environment variable that marks a command and all that comes of it. */
export function marker() {
  return { [`MARK_${randomUUID().replaceAll("-", "")}`]: "1" };
}

/**
 * The ids of the processes that carry a mark, zombies left out: those have no environment.
 *
 * @param {Record<string, string>} mark
 */
export function marked(mark) {
  const names = Object.keys(mark);
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
      return names.every((name) => environment.some((line) => line.startsWith(`${name}=`)));
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });
}

/**
 * The ids of the children of a process that have ended and were not reaped.
 *
 * @param {string | number} parent
 */
export function zombies(parent) {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      // Behind the name, which may hold anything: state, parent.
      const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ");
      return fields?.[0] === "Z" && fields[1] === String(parent);
    } catch {
      return false;
    }
  });
}

/**
 * Waits until a condition is true.
 *
 * @param {() => boolean | Promise<boolean>} condition
 */
export async function until(condition) {
  while (!(await condition())) await pause(5);
}
