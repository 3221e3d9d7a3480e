// @ts-check
/** Says what is being done and how long it took. */

/**
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(name, work) {
  const start = performance.now();
  console.log(`▸ ${name}`);
  const result = await work();
  console.log(`  ${name}: ${seconds(performance.now() - start)}`);
  return result;
}

/** @param {number} milliseconds */
export function seconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
