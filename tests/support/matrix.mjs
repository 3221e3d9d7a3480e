// @ts-check
/**
 * Decides which tests run where, for a suite that has several subjects: runtimes, shells, agents.
 *
 * The whole suite runs over one subject; the suite says which and why. Over each other subject only
 * the contract runs: the tests whose outcome that subject can change. The remaining tests prove
 * decisions that are made before a runtime or a shell takes part. `SANDPIPE_MATRIX=1`
 * (`npm run matrix`) runs the whole suite over every subject. `tests/MATRIX.md` lists what it adds,
 * and why the outcome can't differ there.
 */

import { it } from "node:test";

/** Whether every suite runs as a whole over all its subjects. */
export const isMatrix = process.env["SANDPIPE_MATRIX"] === "1";

/**
 * The difference between a subject and the one that the whole suite runs over. `whole`: none, it is
 * that subject. `shell`: another shell and other tools. `runtime`: another runtime, or another
 * agent.
 *
 * @typedef {"whole" | "shell" | "runtime"} Part
 */

/**
 * Functions that define the tests of a suite for one subject, with the arguments of `it`.
 *
 * @typedef {object} Tests
 * @property {typeof it} it for the subject of the whole suite
 * @property {typeof it} shellContract for that subject, and for those with another shell
 * @property {typeof it} runtimeContract for that subject, and for those with another runtime
 * @property {typeof it} contract for all subjects
 * @property {boolean} isWhole whether the whole suite runs over this subject
 */

/** Defines nothing. */
const leftOut = /** @type {typeof it} */ (() => Promise.resolve());

/**
 * Makes the functions that define the tests of a suite for a subject.
 *
 * @param {Part} part
 * @returns {Tests}
 */
export function testsOf(part) {
  const isWhole = isMatrix || part === "whole";
  const runs = (/** @type {boolean} */ isInContract) => (isWhole || isInContract ? it : leftOut);
  return {
    it: runs(false),
    shellContract: runs(part === "shell"),
    runtimeContract: runs(part === "runtime"),
    contract: runs(true),
    isWhole,
  };
}
