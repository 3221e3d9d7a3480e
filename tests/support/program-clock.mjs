// @ts-check
/**
 * Loaded into a program of Node.js before its own code (`--import`): its limits of 10 s and more are over when a test says
 * so. For each SIGUSR2 the time passes up to the next of them, once the program does nothing but wait for it. How often it has
 * passed is in the file that `TEST_CLOCK` names.
 */

import { writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
import { holdTimers } from "./held-timers.mjs";

/** The shortest time limit that is held, in milliseconds. */
const FROM_MS = 10_000;
/** The longest that is waited for: what is due later is not to be over in a test. */
const MAX_MS = 15_000;
/** How often it is looked, in milliseconds, whether the program does nothing but wait, and how many looks have to say so. */
const LOOK_MS = 50;
const LOOKS = 10;

const { setTimeout: real, setInterval, clearInterval } = globalThis;
const clock = holdTimers(FROM_MS);
const { setTimeout: held } = globalThis;
// A connection is made by the machine's clock: no test waits for one in vain.
const set = (/** @type {Parameters<typeof real>} */ ...args) => {
  const isOfConnection = new Error().stack?.includes("http-fetch") === true;
  return (isOfConnection ? real : held)(...args);
};
Object.assign(globalThis, { setTimeout: set });
const { setTimeout: pause } = timers;
timers.setTimeout = async (milliseconds = 0, value, options) => {
  if (milliseconds < FROM_MS) return pause(milliseconds, value, options);
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  return /** @type {any} */ (value);
};
syncBuiltinESMExports();

const file = process.env["TEST_CLOCK"] ?? "";
let asked = 0;
let passed = 0;
/** @type {NodeJS.Timeout | undefined} */
let looking;

process.on("SIGUSR2", () => {
  asked += 1;
  looking ??= look();
});

/** Has time pass as often as that was asked for. */
function look() {
  let [looks, before] = [0, ""];
  const timer = setInterval(() => {
    const due = clock.due();
    const now = due.join();
    looks = now === before ? looks + 1 : 0;
    before = now;
    const [next = Infinity] = due;
    if (looks < LOOKS || next > MAX_MS) return;
    clock.pass(next);
    passed += 1;
    looks = 0;
    writeFileSync(file, `${passed}.`);
    if (passed < asked) return;
    clearInterval(timer);
    looking = undefined;
  }, LOOK_MS);
  return timer.unref();
}
