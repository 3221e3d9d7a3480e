import { setTimeout as delay } from "node:timers/promises";

import { checkArguments } from "./checked-arguments.js";
import { UsageError } from "./command.js";
import { PROGRAM } from "./commands.js";
import type { Outcome } from "./outcome.js";
import { failed } from "./failure.js";
import { carryOut } from "./parser.js";
import { errorLine } from "./format.js";
import { OutputWriter } from "./output-writer.js";

/** How long the reader of stderr may take to take the last line, in milliseconds. */
const LAST_LINE_TIMEOUT_MS = 1000;

/** What a wrong command line ends with. */
const WRONG_USAGE = 2;

/** Does what the command line says; resolves what to end with. Its message has been shown. */
export async function main(args: readonly string[]): Promise<Outcome> {
  let outcome: Outcome;
  try {
    // Programs have these for it, too; the help has one way.
    const asksVersion = args[0] === "-V" || (args[0] === "version" && args.length === 1);
    checkArguments(args);
    outcome = await carryOut(PROGRAM, asksVersion ? ["--version"] : args);
  } catch (error) {
    outcome = failed(error);
    if (error instanceof UsageError) outcome.exitCode = WRONG_USAGE;
  }
  if (outcome.message !== undefined) {
    // What went wrong and what to do.
    const written = new OutputWriter(process.stderr).write(errorLine(outcome.message));
    await Promise.race([written, delay(LAST_LINE_TIMEOUT_MS)]);
  }
  return outcome;
}
