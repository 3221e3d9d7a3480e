import { type Command, command, type CommandGroup } from "../command.js";
import { interruptible } from "../exit-decision.js";
import { helpOf } from "../parser.js";

/** @param program The group whose commands are looked up. */
export function help(program: () => CommandGroup): Command {
  return command({
    name: "help",
    summary: "show what there is, or what a command takes",
    usage: "[COMMAND...]",
    about: "Shows the same as `--help` behind the command.",
    options: {},
    operands: "[COMMAND...]",
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
