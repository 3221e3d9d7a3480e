import { parseArgs, type ParseArgsConfig } from "node:util";

import { type Command, type Options, UsageError } from "./command.js";

/** What every command and group takes. */
export const HELP_OPTION = {
  help: { short: "h", help: "show this" },
} as const satisfies Options;

/** A command line that has been read. */
export interface Arguments {
  values: Record<string, string | boolean | string[] | undefined>;
  operands: string[];
}

/**
 * Reads the arguments of a command. With `--help` among them, nothing else is checked.
 *
 * @throws {UsageError} They are wrong.
 */
export function readArguments(command: Command, args: readonly string[]): Arguments {
  const { options, endsAtOperand = false, operands: count = { min: 0, max: 0 } } = command;
  const read = endsAtOperand ? readUpToOperand(options, args) : parse(options, args);
  const { values, operands } = read;
  if (values["help"] === true) return read;
  const { [count.max]: surplus } = operands;
  if (surplus !== undefined) throw new UsageError(`"${surplus}" is one argument too many`);
  if (operands.length < count.min) {
    throw new UsageError(`an argument is missing: it takes ${command.usage}`);
  }
  return { values, operands };
}

/**
 * Reads options up to the first operand: what follows is somebody else's, also what looks like an
 * option (POSIX, Utility Syntax Guidelines 9 and 10). `--` in front of it is left out.
 *
 * @throws {UsageError} They are wrong.
 */
export function readUpToOperand(options: Options, args: readonly string[]): Arguments {
  const config = { args: [...args], options: configOf(options), allowPositionals: true };
  const { tokens } = parseArgs({ ...config, strict: false, tokens: true });
  const end = tokens.find(({ kind }) => kind !== "option");
  if (end === undefined) return parse(options, args);
  const first = end.kind === "option-terminator" ? end.index + 1 : end.index;
  return { values: parse(options, args.slice(0, end.index)).values, operands: args.slice(first) };
}

function parse(options: Options, args: readonly string[]): Arguments {
  const config = {
    args: withNegatives(options, args),
    options: configOf(options),
    allowPositionals: true,
  };
  try {
    const { values, positionals } = parseArgs({ ...config, strict: true });
    return { values: { ...defaults(options), ...values }, operands: positionals } as Arguments;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // What follows the first sentence is about operands that begin with a dash.
    const [what = error.message] = error.message.split(/\. (?=To specify a positional)/);
    throw new UsageError(what, { cause: error });
  }
}

/**
 * Joins negative numbers to the options before them. `parseArgs` would say that `--timeout -1` is ambiguous;
 * who reads the option's value says what is wrong with it.
 *
 * @throws {UsageError} Something else that looks like an option stands where a value has to.
 */
function withNegatives(options: Options, args: readonly string[]): string[] {
  const config = { args: [...args], options: configOf(options), allowPositionals: true };
  const { tokens } = parseArgs({ ...config, strict: false, tokens: true });
  const joined = [...args];
  for (const token of tokens.toReversed()) {
    if (token.kind !== "option" || token.inlineValue !== false) continue;
    const { index, name, rawName, value } = token;
    const isAlone = args[index] === rawName;
    if (isAlone && /^-[\d.]/.test(value)) joined.splice(index, 2, `--${name}=${value}`);
    else if (/^-./.test(value)) {
      const inOne = `write --${name}=${value} if that is its value`;
      throw new UsageError(`--${name} needs a value, but "${value}" follows: ${inOne}`);
    }
  }
  return joined;
}

type Config = NonNullable<ParseArgsConfig["options"]>;

function configOf(options: Options): Config {
  const all: Options = { ...options, ...HELP_OPTION };
  const config = Object.entries(all).map(([name, { short, value, multiple = false }]) => {
    const type = value === undefined ? "boolean" : "string";
    return [name, { type, multiple, ...(short === undefined ? {} : { short }) }];
  });
  return Object.fromEntries(config) as Config;
}

/** A flag that is not given is false; what may be repeated, an empty list. */
function defaults(options: Options): Arguments["values"] {
  const values = Object.entries(options).map(([name, { value, multiple }]) => {
    if (value === undefined) return [name, false];
    return [name, multiple === true ? [] : undefined];
  });
  return Object.fromEntries(values) as Arguments["values"];
}
