// @ts-check
/** Says what is being done and how long it took. */

/**
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} work
 * @param {string} [title] how it is announced, by default by its name
 * @returns {Promise<T>}
 */
export async function step(name, work, title = name) {
  const start = performance.now();
  console.log(`▸ ${title}`);
  const result = await work();
  console.log(`  ${name}: ${seconds(performance.now() - start)}`);
  return result;
}

/**
 * Does some things one after another, and says at each what is left.
 *
 * @param {readonly { name: string, work: () => Promise<void> }[]} steps
 */
export async function runSteps(steps) {
  for (const [index, { name, work }] of steps.entries()) {
    const left = steps.slice(index + 1).map((step) => step.name);
    const then = left.length > 0 ? ` (left: ${left.join(", ")})` : "";
    await step(name, work, `${index + 1} of ${steps.length}: ${name}${then}`);
  }
}

/** @param {number} milliseconds */
export function seconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
