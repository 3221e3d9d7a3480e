import { type Command, command, type CommandGroup, UsageError } from "../command.js";
import { interruptible } from "../exit.js";
import { commandHelp, groupHelp } from "../help.js";

/** @param program The group whose commands are looked up. */
export function help(program: () => CommandGroup): Command {
  return command({
    name: "help",
    summary: "show what there is, or what a command takes",
    usage: "[COMMAND...]",
    about: "Shows the same as `--help` behind the command.",
    options: {},
    operands: { min: 0, max: Infinity },
    examples: ["sandpipe help", "sandpipe help run", "sandpipe help bg start"],

    async run(_, names) {
      const text = helpOf(program(), names);
      return await interruptible(async ({ stdout }) => {
        await stdout.write(text);
        return undefined;
      });
    },
  });
}

function helpOf(program: CommandGroup, names: readonly string[]): string {
  const path = [program.name];
  let entry: Command | CommandGroup = program;
  for (const name of names) {
    const commands: CommandGroup["commands"] = "commands" in entry ? entry.commands : [];
    const named = commands.find((command) => command.name === name);
    if (named === undefined) throw new UsageError(`there is no command "${names.join(" ")}"`);
    path.push(name);
    entry = named;
  }
  return "commands" in entry ? groupHelp(path, entry) : commandHelp(path, entry);
}
