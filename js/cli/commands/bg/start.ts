import type { SpawnOptions } from "../../../background.js";
import { command } from "../../command-line/command.js";
import { json } from "../../screen/json.js";
import { onTarget } from "../../target/on-target.js";
import { path, shellVariables, timeLimit } from "../../command-line/option-values.js";
import { RUNTIME } from "../../target/runtime.js";
import { shellQuote } from "../../screen/shell-quote.js";
import { UsageError } from "../../command-line/usage-error.js";

export const start = command({
  name: "start",
  summary: "start a process and print its id",
  usage: "[OPTIONS] [--] COMMAND [ARGS...], or [OPTIONS] -c SCRIPT",
  about:
    "Starts a command, or a shell script, that goes on when sandpipe has ended, and prints its id. Its " +
    "stdin is empty; a hangup does not end it.",
  options: {
    command: { short: "c", value: "SCRIPT", help: "a shell script, in place of a command" },
    name: { value: "NAME", help: "a label, for people" },
    cwd: { value: "DIR", help: "the directory that it runs in; ~/ is the home directory there" },
    env: { value: "NAME=VALUE", multiple: true, help: "a variable more; repeatable" },
    timeout: {
      value: "SECONDS",
      help: "stop it after so long: SIGTERM, SIGKILL after 10 s; nobody has to look [default: never]",
    },
    json: { help: "print the process as a JSON object, not only its id" },
    ...RUNTIME,
  },
  operands: { least: 0, most: Infinity },
  endsAtOperand: true,
  examples: [
    "sandpipe bg start --name 'dev server' -- npm run dev",
    "sandpipe bg start --ssh build.example.com -c 'make all && ./deploy'",
  ],

  async run(values, words) {
    const { command: script, name } = values;
    const cwd = path("--cwd", values.cwd);
    if ((script === undefined) === (words.length === 0)) {
      const example = "as in `sandpipe bg start -- npm run dev`, or a script with -c";
      throw new UsageError(`give either a command, ${example}`);
    }
    const options: SpawnOptions = { env: shellVariables(values.env) };
    const timeoutMs = timeLimit("--timeout", values.timeout);
    if (name !== undefined) options.name = name;
    if (cwd !== undefined) options.cwd = cwd;
    if (timeoutMs !== undefined) options.timeoutMs = timeoutMs;
    return await onTarget(values, async (processes, { stdout }) => {
      const started = await processes.spawn(script ?? shellQuote(words), options);
      await stdout.write(values.json ? json(started) : `${started.id}\n`);
      return undefined;
    });
  },
});
