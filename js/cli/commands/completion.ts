import { type CommandGroup, type Command, command } from "../command-line/command.js";
import {
  bashCompletion,
  fishCompletion,
  zshCompletion,
} from "../command-line/completion-scripts.js";
import { interruptible } from "../ending/interruptible.js";
import { UsageError } from "../command-line/usage-error.js";

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/** @param program What is completed. */
export function completion(program: () => CommandGroup): Command {
  return command({
    name: "completion",
    summary: "print the completion of the command line for a shell",
    usage: "bash|zsh|fish",
    about: "Prints a script with which a shell completes the commands and options of sandpipe.",
    options: {},
    operands: { least: 1, most: 1 },
    examples: [
      "source <(sandpipe completion bash)    # in ~/.bashrc",
      "source <(sandpipe completion zsh)     # in ~/.zshrc, after compinit",
      "sandpipe completion fish > ~/.config/fish/completions/sandpipe.fish",
    ],

    async run(_, [shell = ""]) {
      if (!isKnown(shell)) {
        throw new UsageError(
          `there is a completion for bash, zsh and fish, but not for "${shell}"`,
        );
      }
      return await interruptible(async ({ stdout }) => {
        await stdout.write(SCRIPTS[shell](program()));
        return undefined;
      });
    },
  });
}

function isKnown(shell: string): shell is keyof typeof SCRIPTS {
  return Object.hasOwn(SCRIPTS, shell);
}
