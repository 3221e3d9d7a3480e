import { HELP_OPTION } from "./arguments.js";
import type { Command, CommandGroup, Option, Options } from "./command.js";

/** How long a line of help may be. */
const WIDTH = 100;

/** The help of a command. `path`: the names that lead to it, its own last. */
export function commandHelp(path: readonly string[], command: Command): string {
  const { usage, about, notes, examples } = command;
  return [
    `Usage: ${[...path, usage].join(" ")}\n`,
    `${wrap(about, 0)}\n`,
    optionsHelp(command.options),
    ...(notes === undefined ? [] : [`${notes.trim()}\n`]),
    examplesHelp(examples),
  ].join("\n");
}

/** The help of a group of commands. */
export function groupHelp(path: readonly string[], group: CommandGroup): string {
  const commands = group.commands.map(({ name, summary }): [string, string] => [name, summary]);
  const name = path.join(" ");
  return [
    `Usage: ${name} COMMAND [ARGS...]\n`,
    `${wrap(group.about, 0)}\n`,
    `Commands:\n${list(commands)}`,
    optionsHelp(group.options),
    `\`${name} COMMAND --help\` shows what a command takes.\n`,
    examplesHelp(group.examples),
  ].join("\n");
}

function examplesHelp(examples: readonly string[]): string {
  return `Examples:\n${examples.map((example) => `  ${example}\n`).join("")}`;
}

function optionsHelp(options: Options): string {
  const all = Object.entries<Option>({ ...options, ...HELP_OPTION });
  return `Options:\n${list(all.map(([name, option]) => [spelling(name, option), option.help]))}`;
}

/** How an option is written. */
function spelling(name: string, { short, value }: Option): string {
  const letter = short === undefined ? "" : `-${short}, `;
  return `${letter}--${name}${value === undefined ? "" : ` ${value}`}`;
}

/** Terms with what they mean beside them. */
function list(entries: readonly (readonly [string, string])[]): string {
  const indent = Math.max(...entries.map(([term]) => term.length)) + 4;
  const lines = entries.map(
    ([term, meaning]) => `  ${term}`.padEnd(indent) + wrap(meaning, indent),
  );
  return `${lines.join("\n")}\n`;
}

/** Breaks lines between words. The first line is taken to be indented already. */
function wrap(text: string, indent: number): string {
  const paragraphs = text.split("\n").map((paragraph) => {
    const lines = [""];
    for (const word of paragraph.split(" ")) {
      const line = lines.at(-1) ?? "";
      if (line === "") lines.splice(-1, 1, word);
      else if (indent + line.length + 1 + word.length > WIDTH) lines.push(word);
      else lines.splice(-1, 1, `${line} ${word}`);
    }
    return lines.join(`\n${" ".repeat(indent)}`);
  });
  return paragraphs.join("\n");
}
