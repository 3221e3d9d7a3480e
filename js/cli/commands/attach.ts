import { CONNECTION, connectToNamed } from "../agent.js";
import { command, type Values } from "../command.js";
import { ExitDecision } from "../exit-decision.js";
import { DETACHED } from "../outcome.js";
import { failed } from "../failure.js";
import { execsByPrefix } from "../ids.js";
import { Detached, LocalTerminal, upToDetachKeys, withoutOldQueries } from "../local-terminal.js";
import { positiveNumber } from "../option-values.js";
import { shellQuote } from "../format.js";
import { ShownOutput } from "../shown-output.js";
import { checkStdin, readStdin } from "../stdin.js";

export const attach = command({
  name: "attach",
  summary: "attach to a command that runs: its output, your keyboard",
  usage: "[OPTIONS] ID",
  about:
    "Shows what a command writes, from the beginning, and passes stdin on to it. One with a terminal of " +
    "its own gets every key, and this terminal's size; another one gets lines, and its end of input by " +
    "Ctrl+D. The command's exit code becomes sandpipe's own. ID may be the beginning of one.",
  options: {
    "no-stdin": { help: "only look on: stdin is not passed on" },
    since: {
      value: "SEQ",
      help: "only the output from this sequence number on, as of `sandpipe logs` [default: 1]",
    },
    ...CONNECTION,
  },
  operands: "<ID>",
  offers: "ps -q",
  notes: `
Ctrl+P Ctrl+Q leaves a command with a terminal, Ctrl+C any other one: it goes on.

Exit codes:
  the command's own  128 + N after death by signal N
  2                  the command line is wrong
  125                sandpipe itself failed, or output of a command that ended with 0 is lost;
                     stderr says why
  130                left by keys, or by Ctrl+C: then it dies of SIGINT; 128 + N, of signal N, in the
                     same way; the command goes on
  141                stdout or stderr was closed
`,
  examples: ["sandpipe attach 3f9c04", "sandpipe attach --no-stdin 3f9c04 | tee log"],

  async run(values, [written = ""]) {
    const since = values.since === undefined ? 1 : positiveNumber("--since", values.since);
    if (!values["no-stdin"]) checkStdin();
    const { execs } = await connectToNamed(values);
    const exit = new ExitDecision();
    exit.listenToSignals();
    let terminal: LocalTerminal | undefined;
    const attached: { id?: string; isDetached: boolean } = { isDetached: false };
    const attend = async (): Promise<void> => {
      const { id, pty } = await execsByPrefix(execs)(written);
      attached.id = id;
      // Where a terminal shows it, and may answer.
      const shows = pty && process.stdout.isTTY;
      const newest = shows ? (await execs.getOutput(id, -1)).lastSequence : 0;
      const textOf = newest > 0 ? withoutOldQueries(newest) : undefined;
      const { outcome } = new ShownOutput(execs, id, exit.output, since, textOf);
      if (!values["no-stdin"]) {
        const { stdin } = process;
        const keyboard = pty && stdin.isTTY;
        if (keyboard) terminal = new LocalTerminal();
        terminal?.setRaw();
        void terminal?.lendSize(execs, id);
        // One that is destroyed when it is read no more could not be restored.
        const input = stdin.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
        const lines = stdin.isTTY ? input : readStdin();
        execs
          .sendStdin(id, keyboard ? upToDetachKeys(input) : lines)
          // It takes no keys: Ctrl+C is to leave it, then.
          .then(() => terminal?.restore())
          .catch(fail);
      }
      exit.decide(await outcome);
    };
    const fail = (error: unknown): void => {
      attached.isDetached = error instanceof Detached;
      exit.decide(attached.isDetached ? { exitCode: DETACHED } : failed(error));
    };
    attend().catch(fail);
    const outcome = await exit.wait();
    terminal?.restore();
    const { id, isDetached } = attached;
    if (id === undefined || !(isDetached || exit.signal !== undefined)) return outcome;
    // The command's prompt, or what was typed there, stands in the line; or else `^C` does.
    if (isDetached && process.stderr.isTTY) await exit.output.stderr.write("\n");
    else await exit.endLine();
    const back = shellQuote(["sandpipe", "attach", ...target(values), written]);
    return { ...outcome, message: `left: exec ${id} goes on; \`${back}\` comes back.` };
  },
});

/** The options that name the same agent once more. */
function target(values: Values<typeof CONNECTION>): string[] {
  return Object.keys(CONNECTION).flatMap((name) => {
    const value = values[name as keyof typeof CONNECTION];
    return value === undefined ? [] : [`--${name}`, value];
  });
}
