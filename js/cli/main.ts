import { setTimeout as delay } from "node:timers/promises";

import { readArguments, readUpToOperand } from "./arguments.js";
import { type Command, type CommandGroup, UsageError } from "./command.js";
import { PROGRAM } from "./commands.js";
import type { Outcome } from "./exit.js";
import { failed } from "./failure.js";
import { commandHelp, groupHelp } from "./help.js";
import { errorLine, OutputWriter } from "./print.js";
import { version } from "./version.js";

/** How long the reader of stderr may take to take the last line, in milliseconds. */
const LAST_LINE_TIMEOUT_MS = 1000;

/** What a wrong command line ends with. */
const WRONG_USAGE = 2;

/** Does what the command line says, and gives what to end with. Its message has been shown. */
export async function main(args: readonly string[]): Promise<Outcome> {
  const path: string[] = [];
  let outcome: Outcome;
  try {
    outcome = await carryOut(PROGRAM, args, path);
  } catch (error) {
    outcome = failed(error);
    if (error instanceof UsageError) {
      const what = error.message.replace(/\.$/, "");
      outcome = { exitCode: WRONG_USAGE, message: `${what}. See \`${path.join(" ")} --help\`.` };
    }
  }
  if (outcome.message !== undefined) await complain(outcome.message);
  return outcome;
}

/** @param path Takes the names that lead to the command. */
async function carryOut(
  entry: Command | CommandGroup,
  args: readonly string[],
  path: string[],
): Promise<Outcome> {
  path.push(entry.name);
  if (!("commands" in entry)) {
    const { values, operands } = readArguments(entry, args);
    if (values["help"] === true) return await print(commandHelp(path, entry));
    return await entry.run(values as Parameters<typeof entry.run>[0], operands);
  }
  // `-V` is the other letter that programs have for it; the help has one.
  const isVersion = "version" in entry.options && args[0] === "-V";
  const { values, operands } = readUpToOperand(entry.options, isVersion ? ["--version"] : args);
  if (values["help"] === true) return await print(groupHelp(path, entry));
  if (values["version"] === true) return await print(`sandpipe ${version()}\n`);
  const [name, ...rest] = operands;
  if (name === undefined) throw new UsageError("no command was given");
  const named = entry.commands.find((command) => command.name === name);
  if (named === undefined) throw new UsageError(`there is no command "${name}"`);
  return await carryOut(named, rest, path);
}

async function print(text: string): Promise<Outcome> {
  await new OutputWriter(process.stdout).write(text);
  return { exitCode: 0 };
}

/** Says on stderr what went wrong and what to do. */
async function complain(message: string): Promise<void> {
  const written = new OutputWriter(process.stderr).write(errorLine(message));
  await Promise.race([written, delay(LAST_LINE_TIMEOUT_MS)]);
}
