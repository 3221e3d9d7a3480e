import { CONNECTION, connectToNamed } from "../agent.js";
import { command } from "../command.js";
import { onEach } from "../each-id.js";
import { interruptible } from "../exit-decision.js";
import { execsByPrefix } from "../ids.js";
import { signalName } from "../option-values.js";

export const kill = command({
  name: "kill",
  summary: "send a signal to all processes of commands",
  usage: "[OPTIONS] ID...",
  about:
    "Sends a signal to all processes of each command, and does not wait for what comes of it. ID may " +
    "be the beginning of one.",
  options: {
    signal: {
      short: "s",
      value: "SIGNAL",
      offers: ["HUP", "INT", "KILL", "QUIT", "TERM", "USR1", "USR2"],
      help: "its name, or a number that is the same on all systems [default: TERM]",
    },
    ...CONNECTION,
  },
  operands: "<ID...>",
  offers: "ps -q",
  notes: `
Exit codes:
  0    all were sent it
  1    one could not be sent it; stderr says which and why
  2    the command line is wrong
  125  sandpipe itself failed; stderr says why
  130  Ctrl+C: it dies of SIGINT; 128 + N, of signal N, in the same way; some may have been sent it
  141  stderr was closed
`,
  examples: ["sandpipe kill 3f9c04", "sandpipe kill -s HUP 3f9c04 8a77e1"],

  async run(values, ids) {
    const signal = signalName("--signal", values.signal ?? "TERM");
    const { execs } = await connectToNamed(values);
    const find = execsByPrefix(execs);
    return await interruptible((output) =>
      onEach(ids, output, async (written) => execs.kill((await find(written)).id, signal)),
    );
  },
});
