import type { Outcome } from "./outcome.js";

/** An option of a command: a flag, or with `value` one that takes a value. */
export interface Option {
  /** Its one-letter form. */
  readonly short?: string;
  /** What its value is called in the help; without it the option is a flag. */
  readonly value?: string;
  /** Whether it may be given several times. */
  readonly multiple?: true;
  /** What it is for, and its default. */
  readonly help: string;
  /** The heading that the help lists it under. Default: `Options`. */
  readonly group?: "Isolation" | "Container" | "Connection";
  /** Values that the completion offers, besides files. */
  readonly offers?: readonly string[];
}

/** The options of a command, by their long names. */
export type Options = Readonly<Record<string, Option>>;

/** What every command and group takes. */
export const HELP_OPTION = { help: { short: "h", help: "show this" } } as const satisfies Options;

/** The options of a command line: flags as booleans, values as texts, undefined if not given. */
export type Values<O extends Options> = {
  readonly [Name in keyof O]: O[Name] extends { value: string }
    ? O[Name] extends { multiple: true }
      ? readonly string[]
      : string | undefined
    : boolean;
};

/** A command of the program. The dispatch, the help and the completion are all made from it. */
export interface Command<O extends Options = Options> {
  readonly name: string;
  /** What it does, in a line of a list. */
  readonly summary: string;
  /** What follows its name on the command line. */
  readonly usage: string;
  /** What it does, in paragraphs. */
  readonly about: string;
  readonly options: O;
  /** Its operands, with spaces between: `<ID>` is one, `<ID...>` one or more, `[PATH]` one or none, `[ARGS...]` any number. Default: none. */
  readonly operands?: string;
  /** What the completion offers as operands: words, or what `sandpipe` prints with these arguments. Default: files. */
  readonly offers?: readonly string[] | string;
  /** Whether operands after `--` are flags of sandpipe-agent. Default: false. */
  readonly passesFlags?: true;
  /** Whether its options end at the first operand: what follows is another program's. Default: false. */
  readonly endsAtOperand?: boolean;
  /** What else there is to know, such as its exit codes, laid out by hand. */
  readonly notes?: string;
  readonly examples: readonly string[];
  /**
   * Does it.
   *
   * @throws {UsageError} The command line is wrong.
   * @throws It failed: the outcome is then {@link OWN_FAILURE}.
   */
  run(values: Values<O>, operands: readonly string[]): Promise<Outcome>;
}

/** Commands below a name of their own. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly about: string;
  /** What it takes before the name of a command. */
  readonly options: Options;
  readonly commands: readonly (Command | CommandGroup)[];
  readonly examples: readonly string[];
}

/** A command whose action is given values of its own options' types. */
export function command<const O extends Options>(definition: Command<O>): Command {
  return definition;
}

/** Options under a heading of the help. */
export function grouped<const O extends Options>(
  group: NonNullable<Option["group"]>,
  options: O,
): O {
  const entries = Object.entries(options).map(([name, option]) => [name, { ...option, group }]);
  return Object.fromEntries(entries) as O;
}

/** The command line is wrong. The message says what; where to read more is added to it. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
