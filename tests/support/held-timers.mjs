// @ts-check

/**
 * Stops the clock of this process: `performance.now()`, and timers of so many milliseconds or more
 * that are set from now on. Time passes when a test says so.
 *
 * @param {number} from the shortest timer that is held; shorter ones end as usual
 */
export function holdTimers(from) {
  const { setTimeout, clearTimeout } = globalThis;
  // A whole number: the sum of two fractions, less one of them, is not always the other.
  let clock = Math.ceil(performance.now());
  /** @type {Map<unknown, { due: number, callback: () => void }>} */
  const held = new Map();
  /** @type {(callback: (...args: any[]) => void, ms?: number, ...args: any[]) => NodeJS.Timeout} */
  const set = (callback, ms = 0, ...args) => {
    if (ms < from) return setTimeout(callback, ms, ...args);
    const timer = setTimeout(() => undefined, 2 ** 31 - 1);
    held.set(timer, { due: clock + ms, callback: () => void callback(...args) });
    return timer;
  };
  /** @type {(timer: any) => void} */
  const clear = (timer) => {
    held.delete(timer);
    clearTimeout(timer);
  };
  Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
  Object.assign(performance, { now: () => clock });
  return {
    /** How many are held that are due within a time, in milliseconds. */
    count: (within = Infinity) =>
      [...held.values()].filter(({ due }) => due <= clock + within).length,

    /** In how many milliseconds each of them is due, the next one first. */
    due: () => [...held.values()].map(({ due }) => due - clock).sort((one, other) => one - other),

    /** Has time pass, and the timers end that are due then. @param {number} milliseconds */
    pass(milliseconds) {
      clock += milliseconds;
      for (const [timer, { due, callback }] of [...held]) {
        if (due > clock) continue;
        clear(timer);
        callback();
      }
    },

    /** The clock goes on as usual; timers that are held never end. */
    restore() {
      for (const timer of [...held.keys()]) clear(timer);
      Object.assign(globalThis, { setTimeout, clearTimeout });
      Reflect.deleteProperty(performance, "now");
    },
  };
}
