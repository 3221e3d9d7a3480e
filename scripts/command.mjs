// @ts-check
import { ProgramFailed } from "./child-process.mjs";
import { RequirementMissing } from "./setup/requirement.mjs";

/**
 * Runs what a command of this project does, and ends with the exit code that it returns.
 *
 * @param {() => Promise<number>} work
 */
export async function command(work) {
  try {
    process.exitCode = await work();
  } catch (error) {
    console.error(explanation(error));
    process.exitCode = error instanceof ProgramFailed ? error.exitCode : 1;
  }
}

/**
 * What a failure is worth saying: for one that was foreseen, no stack.
 *
 * @param {unknown} error
 */
export function explanation(error) {
  const foreseen = error instanceof ProgramFailed || error instanceof RequirementMissing;
  return foreseen ? error.message : error;
}
