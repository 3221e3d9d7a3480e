import type { CommandGroup } from "./command.js";
import { mcp } from "./commands/mcp.js";
import { run } from "./commands/run.js";

/**
 * The program with all its commands.
 *
 * A command is a file in commands/ that defines it with {@link command}, and an entry here: the
 * dispatch, the help and the completion follow.
 */
export const PROGRAM: CommandGroup = {
  name: "sandpipe",
  summary: "",
  about: "Runs commands in sandboxes.",
  options: { version: { short: "V", help: "show the version" } },
  commands: [run, mcp],
};
