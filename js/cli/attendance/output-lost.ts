import { OutputLostError } from "../../errors.js";

/** An error of a stream of output; one of output that is gone says how to have the rest. */
export function withWayOn(error: unknown): unknown {
  if (!(error instanceof OutputLostError)) return error;
  const { from, to, exitCode } = error;
  const lost = `the agent no longer has the pieces ${from} to ${to} of the output`;
  const ended = exitCode === undefined ? "" : `, and the command ended with exit code ${exitCode}`;
  return new Error(`${lost}${ended}: \`--since ${to + 1}\` shows what comes after them.`);
}
