// @ts-check
/** What suites need of the machine. Where it can't be had, they are skipped, or have failed. */

import { explanation } from "../command.mjs";

/**
 * @typedef {object} Need
 * @property {string} name what is missing where it can't be had
 * @property {() => Promise<void>} prepare installs it where that is possible; rejects where it is not
 */

/**
 * Prepares what suites need, and sorts out those for which it can't be had.
 *
 * Continuous integration runs as root, and the registries have all that is needed: there what is missing is a failure.
 *
 * @template {{ name: string, needs: readonly Need[] }} Suite
 * @param {readonly Suite[]} suites
 * @param {{ isComplete: boolean }} options `isComplete`: what is missing is a failure
 */
export async function prepareNeeds(suites, { isComplete }) {
  /** @type {Map<Need, Promise<string | undefined>>} */
  const prepared = new Map();
  const missing = async (/** @type {Need} */ need) => {
    const problem = prepared.get(need) ?? attempt(need);
    prepared.set(need, problem);
    return problem;
  };

  /** @type {Suite[]} */
  const ready = [];
  /** @type {{ suite: string, reason: string, outcome: "skipped" | "failed" }[]} */
  const left = [];
  for (const suite of suites) {
    const problems = [];
    for (const need of suite.needs) {
      const problem = await missing(need);
      if (problem !== undefined) problems.push(`needs ${need.name}: ${problem}`);
    }
    if (problems.length === 0) ready.push(suite);
    else {
      const outcome = isComplete ? "failed" : "skipped";
      left.push({ suite: suite.name, reason: problems.join("; "), outcome });
    }
  }
  return { ready, left };
}

/** @param {Need} need */
async function attempt({ prepare }) {
  try {
    await prepare();
    return undefined;
  } catch (error) {
    const text = explanation(error);
    return (text instanceof Error ? text.message : String(text)).trim().replaceAll(/\s+/g, " ");
  }
}
