// @ts-check
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

import { oneLine, processReport } from "./process-report.mjs";

/** The names of the variables that `marker()` made. @type {Set<string>} */
const markers = new Set();

/** Makes an environment variable that marks a command and all that comes of it. */
export function marker() {
  const name = `MARK_${randomUUID().replaceAll("-", "")}`;
  markers.add(name);
  return { [name]: "1" };
}

/**
 * The ids of the processes that are as it says. One that ends while it is looked at is none of them.
 *
 * @param {(pid: string) => boolean} is
 */
export function processesThat(is) {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return is(pid);
    } catch {
      return false;
    }
  });
}

/**
 * State, parent, group and session of a process (proc_pid_stat(5)).
 *
 * @param {string} pid
 */
export function statOf(pid) {
  // They come behind the name, which may hold anything.
  return readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ") ?? [];
}

/** The ids of the living children of a process. @param {string} pid */
export function childrenOf(pid) {
  return processesThat((other) => {
    const [state, parent] = statOf(other);
    return parent === pid && state !== "Z";
  });
}

/**
 * The id of the process that started an agent's commands, and of the agent itself.
 *
 * @param {(script: string) => Promise<{ output: string }>} run a script at the agent
 */
export async function idsOfAgent(run) {
  const box = (await run("echo $PPID")).output.trim();
  const [, agent = ""] = statOf(box);
  return { box, agent };
}

/**
 * The environment of a process: its lines.
 *
 * @param {string} pid
 */
export function environmentOf(pid) {
  return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
}

/**
 * The ids of the processes that carry a mark, zombies left out: those have no environment.
 *
 * @param {Record<string, string>} mark
 */
export function marked(mark) {
  const names = Object.keys(mark);
  return processesThat((pid) => {
    const environment = environmentOf(pid);
    return names.every((name) => environment.some((line) => line.startsWith(`${name}=`)));
  });
}

/**
 * The ids of the children of a process that have ended and were not reaped.
 *
 * @param {string | number} parent
 */
export function zombies(parent) {
  return processesThat((pid) => {
    const [state, itsParent] = statOf(pid);
    return state === "Z" && itsParent === String(parent);
  });
}

/** The clock of the machine, whatever a test makes of `performance.now()`. */
const now = performance.now.bind(performance);

/** How long a condition is waited for, in milliseconds: far longer than any takes, on a busy machine too. */
const DEADLINE_MS = 60_000;
/** How much of a condition's source an error shows, in characters. */
const MAX_CONDITION = 200;

/**
 * Waits until a condition is true. Throws once the time has passed, with what the processes of the
 * test are doing.
 *
 * @param {() => boolean | Promise<boolean>} condition
 * @param {object} [options]
 * @param {number} [options.timeoutMs]
 * @param {() => string} [options.describe] says what is waited for, and what there is instead; by
 * default, the condition's source
 */
export async function until(condition, { timeoutMs = DEADLINE_MS, describe } = {}) {
  const deadline = now() + timeoutMs;
  for (;;) {
    // A condition that takes its time is evaluated once more after the deadline.
    const isLast = now() > deadline;
    if (await condition()) return;
    if (isLast) break;
    await pause(5);
  }
  const what = describe === undefined ? oneLine(String(condition), MAX_CONDITION) : describe();
  const report = processReport({ variables: markers });
  throw new Error(`Waited ${timeoutMs} ms in vain: ${what}\n${report}`);
}

/**
 * Waits until a condition is true, but no longer; resolves whether it is. For what may stay false:
 * `until()` is for what has to come true.
 *
 * @param {number} milliseconds
 * @param {() => boolean} condition
 */
export async function within(milliseconds, condition) {
  const deadline = now() + milliseconds;
  while (!condition()) {
    if (now() > deadline) return false;
    await pause(5);
  }
  return true;
}
