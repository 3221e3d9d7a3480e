import { CONNECTION, connectToNamed } from "../agent.js";
import { command } from "../command.js";
import { stopEach } from "../each-id.js";
import { execsByPrefix } from "../ids.js";
import { milliseconds } from "../option-values.js";

export const stop = command({
  name: "stop",
  summary: "stop commands and wait until they have ended",
  usage: "[OPTIONS] ID...",
  about:
    "Stops each command: SIGTERM to all its processes, SIGKILL to those that are left after the grace " +
    "period. It ends when no process of them is left. ID may be the beginning of one.",
  options: {
    grace: { short: "t", value: "TIME", help: "how long they may take to end [default: 10s]" },
    ...CONNECTION,
  },
  operands: "<ID...>",
  offers: "ps -q",
  notes: `
Ctrl+C does not give it up; a second one kills at once.

Exit codes:
  0    all are stopped
  1    one could not be stopped; stderr says which and why
  2    the command line is wrong
  125  sandpipe itself failed; stderr says why
  130  all are stopped, and there was Ctrl+C: it dies of SIGINT; 128 + N, of signal N, in the same way
`,
  examples: ["sandpipe stop 3f9c04", "sandpipe stop --grace 60 3f9c04 8a77e1"],

  async run(values, ids) {
    const graceMs = milliseconds("--grace", values.grace ?? "10");
    const { execs } = await connectToNamed(values);
    const find = execsByPrefix(execs);
    return await stopEach(ids, graceMs, async (written, forceSignal) =>
      execs.terminate((await find(written)).id, { graceMs, forceSignal }),
    );
  },
});
