// @ts-check
import { run } from "./run.mjs";
import { Tally } from "./tally.mjs";

/** How many runs are under way at a time, whatever they belong to. */
const AT_A_TIME = 4;

let underWay = 0;
/** @type {(() => void)[]} */
const waiting = [];

/**
 * Runs with the seeds `AGENT-SIZE-FIRST` and those after it.
 *
 * @param {import("./rig.mjs").Rig} rig
 * @param {import("./texts.mjs").Size} size
 * @param {number} first
 * @param {number} count
 * @returns {Promise<{ tally: Tally, failures: unknown[] }>}
 */
export async function runAll(rig, size, first, count) {
  const tally = new Tally();
  /** @type {unknown[]} */
  const failures = [];
  const numbers = Array.from({ length: count }, (_, index) => first + index);
  await Promise.all(
    numbers.map((number) =>
      inTurn(() => run(rig, `${rig.kind}-${size}-${number}`, size, tally)).catch((error) => {
        console.error(error.message);
        failures.push(error);
      }),
    ),
  );
  return { tally, failures };
}

/**
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function inTurn(work) {
  if (underWay === AT_A_TIME) {
    await new Promise((resolve) => waiting.push(() => resolve(undefined)));
  } else {
    underWay += 1;
  }
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next === undefined) underWay -= 1;
    else next();
  }
}
