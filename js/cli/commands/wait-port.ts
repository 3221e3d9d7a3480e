import { isSandpipeError } from "../../core/errors.js";
import { CONNECTION, connectToNamed } from "../agent.js";
import { command } from "../command.js";
import { interruptible } from "../exit-decision.js";
import { execsByPrefix } from "../ids.js";
import { portNumber, timeLimit } from "../option-values.js";
import { TIMED_OUT } from "../outcome.js";
import { withProgress } from "../progress.js";

/** The exit code where the command that was to listen has ended. */
const ENDED = 1;

export const waitPort = command({
  name: "wait-port",
  summary: "wait until something listens on a port of the sandbox",
  usage: "[OPTIONS] PORT",
  about: "Waits until something listens on a TCP port in the sandbox. It connects to nothing.",
  options: {
    timeout: { value: "TIME", help: "wait no longer [default: for ever]" },
    exec: {
      value: "ID",
      help: "wait no longer than this command runs, which is to listen; ID may be the beginning of one",
    },
    ...CONNECTION,
  },
  operands: "<PORT>",
  notes: `
Exit codes:
  0    something listens
  1    the command of --exec ended before; stderr has the last of its output
  2    the command line is wrong
  124  the timeout passed
  125  sandpipe itself failed; stderr says why
  130  Ctrl+C: it dies of SIGINT; 128 + N, of signal N, in the same way; the command goes on
`,
  examples: [
    "sandpipe wait-port 5173 && sandpipe forward 5173",
    "sandpipe wait-port --timeout 60 --exec 3f9c04 8080",
  ],

  async run({ timeout, exec: written, ...values }, [operand = ""]) {
    const port = portNumber("PORT", operand);
    const timeoutMs = timeLimit("--timeout", timeout);
    const sandbox = await connectToNamed(values);
    return await interruptible(
      async (_, stopping) => {
        const exec =
          written === undefined ? undefined : await execsByPrefix(sandbox.execs)(written);
        const waiting = sandbox.ports.waitFor(port, {
          signal: stopping,
          ...(timeoutMs === undefined ? {} : { timeoutMs }),
          ...(exec === undefined ? {} : { exec: exec.id }),
        });
        try {
          await withProgress(`waiting for port ${port}`, waiting, stopping);
          return undefined;
        } catch (error) {
          if (isSandpipeError(error, "timeout")) {
            return { exitCode: TIMED_OUT, message: `nothing listens on port ${port} yet.` };
          }
          if (!isSandpipeError(error, "not_ready")) throw error;
          return { exitCode: ENDED, message: error.message };
        }
      },
      () => {
        sandbox.close();
      },
    );
  },
});
