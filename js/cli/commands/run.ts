import { CONNECTION, reachAgent } from "../agent.js";
import { command, UsageError } from "../command.js";
import { aborted, ExitDecision } from "../exit-decision.js";
import { NO_PROGRAM, type Outcome } from "../outcome.js";
import { Foreground, startCommand } from "../foreground.js";
import { LocalTerminal } from "../local-terminal.js";
import { milliseconds, path, timeLimit, variables } from "../option-values.js";
import { shellHint } from "../format.js";
import { agentWithWalls, WALLS } from "../policy.js";
import { checkStdin } from "../stdin.js";

export const run = command({
  name: "run",
  summary: "run a command; its exit code becomes sandpipe's own",
  usage: "[OPTIONS] [--] COMMAND [ARGS...]",
  about:
    "Runs a command in a sandbox: under the policy `workspace` on this machine, unless an agent, a policy or an image is " +
    "named. Its output goes to stdout and stderr as it comes, and its exit " +
    "code becomes sandpipe's own. No shell comes between: for one, run `sh -c SCRIPT`.",
  options: {
    cwd: {
      short: "w",
      value: "DIR",
      help: "its working directory [default: the agent's workspace]",
    },
    env: {
      short: "e",
      value: "NAME[=VALUE]",
      multiple: true,
      help: "a variable added to the agent's environment; NAME alone passes its value here on; repeatable",
    },
    user: { short: "u", value: "USER", help: "the user to run as, user[:group], names or numbers" },
    interactive: {
      short: "i",
      help: "pass stdin on, up to its end [default: the command's stdin is empty]",
    },
    tty: { short: "t", help: "run it in a terminal of its own; -it for an interactive one" },
    timeout: { value: "TIME", help: "stop it after so long: 60 or 60s, 5m, 2h" },
    grace: {
      value: "TIME",
      help: "how long it may take to end when it is stopped [default: 10s]",
    },
    ...WALLS,
    ...CONNECTION,
    url: {
      ...CONNECTION.url,
      help:
        "the agent's address [default: $SANDPIPE_URL, else an agent of its own on this machine, " +
        "under the policy `workspace`, that ends with it]",
    },
  },
  operands: "[COMMAND...]",
  endsAtOperand: true,
  notes: `
Ctrl+C (with -it it goes to the command), SIGTERM, SIGHUP, SIGQUIT or a closed stdout stop the
command: SIGTERM to all its processes, SIGKILL after the grace period or at a second signal.

Exit codes:
  the command's own  128 + N after death by signal N, 127 if there is no such command, 126 if it
                     can't be executed
  2                  the command line is wrong
  124                the timeout passed
  125                sandpipe itself failed, or output of a command that ended with 0 is lost;
                     stderr says why
  130                Ctrl+C: it dies of SIGINT; 128 + N, of signal N, in the same way
  141                stdout or stderr was closed
`,
  examples: [
    "sandpipe run -- npm test",
    "sandpipe run --timeout 60 -- sh -c 'make && ./check' > report.txt",
    "git diff | sandpipe run -i -- wc -l",
    "sandpipe run -it -- bash",
    "sandpipe run --policy offline -- npm test",
    "sandpipe run --policy open -- npm install --global typescript",
    "sandpipe run --image node:22 --workspace . -- npm test",
  ],

  async run(values, [program, ...args]) {
    if (program === undefined) {
      const example = "write the command last, as in `sandpipe run -- ls -l`";
      throw new UsageError(`there is nothing to run: ${example}`);
    }
    const { interactive, tty } = values;
    const cwd = path("--cwd", values.cwd);
    const user = path("--user", values.user);
    const graceMs = milliseconds("--grace", values.grace ?? "10");
    const timeoutMs = timeLimit("--timeout", values.timeout);
    const request = { command: program, args, cwd, user, env: variables(values.env), interactive };
    const terminal = tty ? new LocalTerminal() : undefined;
    const own = agentWithWalls(values);
    if (own !== undefined && values.url !== undefined) {
      const asking = values.image === undefined ? "a policy" : "--image";
      throw new UsageError(
        `--url names an agent, and ${asking} asks for another: give one of them`,
      );
    }
    if (interactive) checkStdin();
    const exit = new ExitDecision();
    exit.stopAtSignals();
    const agent = await Promise.race([reachAgent(values, own), aborted(exit.forced)]);
    // One of its own that is only starting ends with this process.
    if (agent === undefined) return await nothingRun(exit);
    try {
      // Stopped before there is anything to be stopped.
      if (exit.outcome !== undefined) return await nothingRun(exit);
      const starting = startCommand(agent.execs, request, terminal);
      const id = await Promise.race([starting, aborted(exit.forced)]);
      if (id === undefined) {
        const message = agent.own
          ? "the command was killed with its agent."
          : "the agent has not answered yet: the command may have been started.";
        return { ...(await exit.wait()), message };
      }
      const options = { timeoutMs, graceMs, interactive };
      const foreground = new Foreground(agent, id, options, exit);
      const outcome = await foreground.untilExit(terminal);
      await agent.close(exit.forced);
      const refusal = foreground.refusal(outcome.exitCode !== 0);
      if (refusal !== undefined) {
        const { message } = outcome;
        const said = message === undefined ? refusal : `${message} Also ${refusal}`;
        return { ...outcome, message: said };
      }
      const meansShell = outcome.exitCode === NO_PROGRAM && args.length === 0 && /\s/.test(program);
      if (!meansShell) return outcome;
      const said = outcome.message === undefined ? "" : `${outcome.message} `;
      return { ...outcome, message: said + shellHint(process.argv.slice(2)) };
    } finally {
      await agent.close(exit.forced);
    }
  },
});

async function nothingRun(exit: ExitDecision): Promise<Outcome> {
  const outcome = await exit.wait();
  return exit.signal === undefined ? outcome : { ...outcome, message: "nothing was run." };
}
