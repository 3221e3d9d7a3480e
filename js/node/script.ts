import { InvalidArgumentError } from "../errors.js";

/** @throws {InvalidArgumentError} It is nothing that a shell could read. */
export function checkScript(script: unknown): void {
  if (typeof script !== "string") {
    throw new InvalidArgumentError(`\`script\` must be a string, but is ${typeof script}`);
  }
  if (script.includes("\0")) {
    throw new InvalidArgumentError("`script` must be text without NUL, which no shell can read");
  }
}
