// @ts-check

/**
 * Holds the timers of one length that are set from now on, until a test ends them. Other timers are
 * not changed.
 *
 * @param {import("node:test").TestContext} t
 * @param {number} ms
 */
export function timersOf(t, ms) {
  const { setTimeout, clearTimeout } = globalThis;
  /** @type {Map<unknown, () => void>} */
  const held = new Map();
  /** @type {(callback: (...args: any[]) => void, ms?: number, ...args: any[]) => NodeJS.Timeout} */
  const set = (callback, delay, ...args) => {
    if (delay !== ms) return setTimeout(callback, delay, ...args);
    const timer = setTimeout(() => undefined, 2 ** 31 - 1);
    held.set(timer, () => void callback(...args));
    return timer;
  };
  /** @type {(timer: any) => void} */
  const clear = (timer) => {
    held.delete(timer);
    clearTimeout(timer);
  };
  Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
  t.after(() => {
    for (const timer of [...held.keys()]) clear(timer);
    Object.assign(globalThis, { setTimeout, clearTimeout });
  });
  return {
    /** Counts the timers that are held. */
    count: () => held.size,

    /** Ends the timers that are held. */
    end() {
      for (const [timer, callback] of [...held]) {
        clear(timer);
        callback();
      }
    },
  };
}
