import { parseArgs, type ParseArgsConfig } from "node:util";

import { UsageError } from "./usage-error.js";

/** What the command line asks for. */
export type Asked =
  | { action: "help"; topic?: "run" }
  | { action: "version" }
  | { action: "run"; options: RunOptions };

/** What to run, where and how. */
export interface RunOptions {
  command: string;
  args: string[];
  /** The agent's address. Default: what the environment says, else an agent of its own. */
  url: string | undefined;
  /** The file with the agent's token. */
  tokenFile: string | undefined;
  cwd: string | undefined;
  env: Record<string, string>;
  user: string | undefined;
  /** After so many milliseconds it is stopped. */
  timeoutMs: number | undefined;
  /** How long it may take to end after SIGTERM, in milliseconds. */
  graceMs: number;
  /** Whether stdin is passed on. */
  interactive: boolean;
  /** Whether it runs in a terminal. */
  tty: boolean;
}

const MAIN_OPTIONS = {
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "V" },
} as const;

const RUN_OPTIONS = {
  help: { type: "boolean", short: "h" },
  url: { type: "string" },
  "token-file": { type: "string" },
  cwd: { type: "string" },
  env: { type: "string", multiple: true, default: [] as string[] },
  user: { type: "string" },
  timeout: { type: "string" },
  grace: { type: "string", default: "10" },
  interactive: { type: "boolean", short: "i", default: false },
  tty: { type: "boolean", short: "t", default: false },
} as const;

/** The longest time that a timer can be set to, in seconds: 2^31 - 1 ms, near 25 days. */
const LONGEST_S = 2_147_483;

/**
 * Reads a command line, without the names of the interpreter and the program.
 *
 * @throws {UsageError} It is wrong.
 */
export function parseArguments(args: readonly string[]): Asked {
  const [own, rest] = splitAtOperand(args, MAIN_OPTIONS);
  const { help, version } = strictly(own, MAIN_OPTIONS, "sandpipe --help");
  if (help) return { action: "help" };
  if (version) return { action: "version" };
  const [command, ...after] = rest;
  if (command === "run") return parseRun(after);
  const what = command === undefined ? "no command was given" : `there is no command "${command}"`;
  throw new UsageError(`${what}, only \`run\``, "sandpipe --help");
}

function parseRun(args: readonly string[]): Asked {
  const [own, [command, ...rest]] = splitAtOperand(args, RUN_OPTIONS);
  const values = strictly(own, RUN_OPTIONS, "sandpipe run --help");
  if (values.help) return { action: "help", topic: "run" };
  if (command === undefined) {
    throw wrong("there is nothing to run: write the command last, as in `sandpipe run -- ls -l`");
  }
  const { timeout } = values;
  const options: RunOptions = {
    command,
    args: rest,
    url: values.url,
    tokenFile: values["token-file"],
    cwd: values.cwd,
    env: variables(values.env),
    user: values.user,
    timeoutMs: timeout === undefined ? undefined : milliseconds("--timeout", timeout),
    graceMs: milliseconds("--grace", values.grace),
    interactive: values.interactive,
    tty: values.tty,
  };
  if (options.timeoutMs === 0) throw wrong("--timeout must be more than 0 seconds");
  return { action: "run", options };
}

type Options = NonNullable<ParseArgsConfig["options"]>;

/**
 * Cuts before the first operand: what follows is the command's own, also what looks like an option
 * (POSIX, Utility Syntax Guidelines 9 and 10). `--` in front of it is left out.
 */
function splitAtOperand(args: readonly string[], options: Options): [string[], string[]] {
  const { tokens } = parseArgs({
    ...{ args: [...args], options, strict: false, allowPositionals: true, tokens: true },
  });
  const end = tokens.find(({ kind }) => kind !== "option");
  if (end === undefined) return [[...args], []];
  const operands = end.kind === "option-terminator" ? end.index + 1 : end.index;
  return [args.slice(0, end.index), args.slice(operands)];
}

function strictly<O extends Options>(
  args: string[],
  options: O,
  help: "sandpipe --help" | "sandpipe run --help",
) {
  try {
    return parseArgs({ args, options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // What follows the first sentence is about operands, which are cut off here.
    const [what = error.message] = error.message.split(/\. (?=To specify a positional)/);
    throw new UsageError(what, help);
  }
}

function variables(settings: readonly string[]): Record<string, string> {
  const pairs = settings.map((setting): [string, string] => {
    const end = setting.indexOf("=");
    if (end > 0) return [setting.slice(0, end), setting.slice(end + 1)];
    throw wrong(`--env must be like NAME=VALUE, but is "${setting}"`);
  });
  return Object.fromEntries(pairs);
}

function milliseconds(option: string, text: string): number {
  const seconds = /^(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : NaN;
  if (seconds <= LONGEST_S) return Math.ceil(seconds * 1000);
  throw wrong(`${option} must be a number of seconds up to ${LONGEST_S}, but is "${text}"`);
}

function wrong(what: string): UsageError {
  return new UsageError(what, "sandpipe run --help");
}
