// @ts-check
import { until } from "../support/processes.mjs";

/** Deadline of a call, in milliseconds: many times what a call takes on a busy machine. */
const DEADLINE_MS = 90_000;

// Tests may replace these later.
const { setTimeout, clearTimeout } = globalThis;

/**
 * Wraps an object so that its promises, and those that its methods return, have a deadline. A
 * promise that misses it rejects with its name and with what the processes of the test are doing.
 *
 * @template {object} T
 * @param {T} object
 * @returns {T}
 */
export function inTime(object) {
  return new Proxy(object, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (value instanceof Promise) return beforeDeadline(value, String(name));
      if (typeof value !== "function") return value;
      return (/** @type {unknown[]} */ ...args) => {
        const result = value.apply(target, args);
        return result instanceof Promise ? beforeDeadline(result, String(name)) : result;
      };
    },
  });
}

/**
 * @param {Promise<unknown>} result
 * @param {string} name
 */
async function beforeDeadline(result, name) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    const describe = () => `\`${name}\` has not settled within ${DEADLINE_MS} ms`;
    // It throws at once, and its error lists the processes.
    const report = () => until(() => false, { timeoutMs: 0, describe }).catch(reject);
    timer = setTimeout(report, DEADLINE_MS);
  });
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}
