// The command line: commander reads it, as the commands describe themselves.
import { CommanderError, Command as Parser, Option as ParserOption } from "commander";

import {
  type Command,
  type CommandGroup,
  HELP_OPTION,
  type Option,
  type Options,
  UsageError,
} from "./command.js";
import { insteadOf } from "./instead.js";
import type { Outcome } from "./outcome.js";
import { OutputWriter } from "./output-writer.js";
import { version } from "./version.js";
import { wrappedNotes } from "./wrapped-notes.js";

/** The longest line of help, in columns. A narrower terminal has shorter ones. */
const HELP_WIDTH = 100;

/** Stands before a value that is written behind an option's `=`, as no argument has it: commander does not tell. */
const INLINE = "\0";

/**
 * Does what a command line says.
 *
 * @throws {UsageError} The command line is wrong. The message says where to read more.
 */
export async function carryOut(program: CommandGroup, args: readonly string[]): Promise<Outcome> {
  let outcome: Outcome = { exitCode: 0 };
  let text = "";
  const parser = parserOf(program, {
    args,
    write: (more) => (text += more),
    run: async (run) => (outcome = await run()),
  });
  const marked = args.map((arg) => arg.replace(/^--[^=]+=/, `$&${INLINE}`));
  try {
    const named = namedBy(parser, args);
    const [next] = args.slice(pathOf(named).split(" ").length - 1);
    // For commander what follows would be operands of the command.
    if (next === "--" && named.commands.length > 0) {
      throw new UsageError('"--" can only follow the name of a command');
    }
    await parser.parseAsync(marked, { from: "user" });
  } catch (error) {
    if (error instanceof UsageError) {
      const what = error.message.replace(/\.$/, "");
      const path = pathOf(namedBy(parser, args));
      throw new UsageError(`${what}${what.endsWith("?") ? "" : "."} See \`${path} --help\`.`, {
        cause: error,
      });
    }
    // It ends so when it has written the help or the version.
    if (!(error instanceof CommanderError)) throw error;
  }
  await new OutputWriter(process.stdout).write(text);
  return outcome;
}

/**
 * The help of the command or group that the names lead to.
 *
 * @throws {UsageError} There is none.
 */
export function helpOf(program: CommandGroup, names: readonly string[]): string {
  let text = "";
  let parser: Parser | undefined = parserOf(program, { write: (more) => (text += more) });
  for (const name of names) parser = parser && commandOf(parser, name);
  if (parser === undefined) throw new UsageError(`there is no command "${names.join(" ")}"`);
  parser.outputHelp();
  return text;
}

function commandOf(parser: Parser, name: string | undefined): Parser | undefined {
  return parser.commands.find((command) => command.name() === name);
}

/** The parser of the command that the first arguments name. */
function namedBy(parser: Parser, [name, ...rest]: readonly string[]): Parser {
  const named = commandOf(parser, name);
  return named === undefined ? parser : namedBy(named, rest);
}

/** The program and the commands that lead to a parser. */
function pathOf(parser: Parser): string {
  return parser.parent === null ? parser.name() : `${pathOf(parser.parent)} ${parser.name()}`;
}

/** What a parser is given. */
interface Parsing {
  /** The whole command line. */
  readonly args?: readonly string[];
  /** Takes help and version. */
  readonly write: (text: string) => void;
  /** Takes the action of the command that was found. */
  readonly run?: (action: () => Promise<Outcome>) => Promise<unknown>;
}

function parserOf(program: CommandGroup, parsing: Parsing): Parser {
  const parser = new Parser(program.name)
    // Commander's own would be found behind a wrong option, among another program's words, too.
    .helpOption(false)
    .configureHelp({
      helpWidth: helpWidth(),
      minWidthToWrap: 20,
      subcommandTerm: (command) => command.name(),
    })
    .configureOutput({ writeOut: parsing.write, writeErr: () => undefined })
    .showSuggestionAfterError(false)
    .exitOverride((error) => {
      if (error.exitCode === 0) throw error;
      // A group alone shows what it has.
      if (error.code === "commander.help") {
        namedBy(parser, parsing.args ?? []).outputHelp();
        throw error;
      }
      throw new UsageError(whatIsWrong(namedBy(parser, parsing.args ?? []), error), {
        cause: error,
      });
    });
  // Where an option is a digit, commander takes no negative number for an operand: `kill -9 ID` must not be `kill ID`.
  parser.addOption(new ParserOption("-0").hideHelp());
  parser.on("option:0", () => {
    throw new UsageError("unknown option '-0'");
  });
  define(parser, program, parsing);
  return parser;
}

/** What commander says, without the value of an option that it does not know: it may be a secret. */
function whatIsWrong(parser: Parser, { message }: CommanderError): string {
  const [, kind, name = ""] =
    /^error: unknown (option|command) '(--[^'=]+|[^']*)/.exec(message) ?? [];
  if (kind === undefined) return message.replace(/^error: /, "");
  const isGroup = parser.commands.length > 0;
  const known =
    kind === "command"
      ? parser.commands.map((command) => command.name())
      : parser.options.flatMap(({ short, long }) => [short ?? [], long ?? []].flat());
  if (known.includes(name)) return `${name} takes no value`;
  let advice = insteadOf(pathOf(parser), name, known);
  if (kind === "option" && isGroup) advice ??= "options follow the name of a command";
  if (PASSES_FLAGS.has(parser)) advice ??= "flags of sandpipe-agent follow `--`";
  return `unknown ${kind} '${name}'${advice === undefined ? "" : `: ${advice}`}`;
}

/** The parsers of commands that pass what follows `--` to sandpipe-agent. */
const PASSES_FLAGS = new WeakSet<Parser>();

/** The width of the help: that of the terminal, if there is one and it is narrower. */
function helpWidth(): number {
  const { isTTY, columns } = process.stdout;
  return isTTY && columns > 0 ? Math.min(HELP_WIDTH, columns) : HELP_WIDTH;
}

/** Has a parser read what a command or a group describes. */
function define(parser: Parser, entry: Command | CommandGroup, parsing: Parsing): void {
  parser.summary(entry.summary).description(entry.about);
  for (const [name, option] of Object.entries(entry.options)) {
    parser.addOption(parserOption(name, option));
  }
  parser.addOption(parserOption("help", HELP_OPTION.help));
  parser.on("option:help", () => {
    parser.outputHelp();
    throw new CommanderError(0, "commander.helpDisplayed", "");
  });
  const examples = `Examples:\n${entry.examples.map((example) => `  ${example}\n`).join("")}`;
  if ("commands" in entry) {
    parser.usage("COMMAND [ARGS...]").helpCommand(false);
    // Whatever follows a command's name is the command's.
    parser.enablePositionalOptions().passThroughOptions();
    for (const command of entry.commands) define(parser.command(command.name), command, parsing);
    parser.on("option:version", () => {
      parsing.write(`${entry.name} ${version()}\n`);
      throw new CommanderError(0, "commander.version", "");
    });
    const more = "`--help` behind a command shows what it takes.";
    parser.addHelpText("after", `\n${more}\n\n${examples.trimEnd()}`);
    return;
  }
  if (entry.operands !== undefined) parser.arguments(entry.operands);
  if (entry.passesFlags) PASSES_FLAGS.add(parser);
  const notes = entry.notes === undefined ? "" : `${wrappedNotes(entry.notes, helpWidth())}\n\n`;
  parser
    .usage(entry.usage)
    .passThroughOptions(entry.endsAtOperand ?? false)
    .addHelpText("after", `\n${notes}${examples.trimEnd()}`)
    .action(async () => {
      const values = valuesOf(parser, entry.options) as Parameters<typeof entry.run>[0];
      const operands = parser.args.map((arg) => arg.replace(INLINE, ""));
      await parsing.run?.(() => entry.run(values, operands));
    });
}

function parserOption(name: string, described: Option): ParserOption {
  const { short, value, multiple, help, group = "Options" } = described;
  const letter = short === undefined ? "" : `-${short}, `;
  const takes = value === undefined ? "" : ` <${value}>`;
  const option = new ParserOption(`${letter}--${name}${takes}`, help).helpGroup(`${group}:`);
  if (value === undefined) return option;
  return option.argParser<unknown>((given, previous) => {
    // Who reads a negative number says what is wrong with it.
    if (/^-[^\d.]/.test(given)) {
      throw new UsageError(
        `--${name} needs a value, but "${given}" follows: write --${name}=${given} if that is its value`,
      );
    }
    const text = given.replace(INLINE, "");
    return multiple === true ? [...((previous ?? []) as string[]), text] : text;
  });
}

/** The values of all options, by the names that they are described with. */
function valuesOf(parser: Parser, options: Options): Record<string, unknown> {
  const values = parser.options.map((option): [string, unknown] => {
    const name = option.name();
    const given: unknown = parser.getOptionValue(option.attributeName());
    if (option.negate) return [name, given === false];
    const unset = options[name]?.multiple === true ? [] : undefined;
    return [name, given ?? (option.required ? unset : false)];
  });
  return Object.fromEntries(values);
}
