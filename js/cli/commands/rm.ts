import { CONNECTION, connectToNamed } from "../agent.js";
import { command, UsageError } from "../command.js";
import { onEach } from "../each-id.js";
import { interruptible } from "../exit-decision.js";
import { execsByPrefix } from "../ids.js";
import { ageMs } from "../option-values.js";

export const rm = command({
  name: "rm",
  summary: "remove commands that have ended, with their output",
  usage: "[OPTIONS] ID... | --ended",
  about:
    "Removes commands that have ended or were never started, with their output: those that are named, or with " +
    "--ended all that have ended. ID may be the beginning of one. What runs is stopped first: `sandpipe stop`. " +
    "What a command that has ended left running in its process group is killed where it is named, and with " +
    "--ended the command stays.",
  options: {
    ended: { help: "all that have ended" },
    before: { value: "AGE", help: "of these only what ended so long ago: 90s, 30m, 2h, 7d" },
    ...CONNECTION,
  },
  operands: "[ID...]",
  offers: "ps -q",
  notes: `
With --ended it prints how many it has removed. --before takes the end by the agent's clock and the age by the
clock here: where they differ, so does the age.

Exit codes:
  0    all are removed
  1    one could not be removed, since it runs, say; stderr says which and why
  2    the command line is wrong
  125  sandpipe itself failed; stderr says why
  130  stopped by a signal; some may have been removed
  141  stdout or stderr was closed
`,
  examples: ["sandpipe rm 3f9c04 8a77e1", "sandpipe rm --ended", "sandpipe rm --ended --before 2h"],

  async run({ ended, before, ...values }, ids) {
    if (ended && ids.length > 0) throw new UsageError("--ended removes all: leave out the ids");
    if (!ended && ids.length === 0) throw new UsageError("what is to be removed? ID... or --ended");
    if (!ended && before !== undefined) throw new UsageError("--before needs --ended");
    const age = before === undefined ? undefined : ageMs("--before", before);
    const { execs } = await connectToNamed(values);
    return await interruptible(async (output) => {
      if (ended) {
        // By the clock here.
        const options = age === undefined ? {} : { endedBefore: Date.now() - age };
        const removed = await execs.remove(options);
        await output.stdout.write(`${removed.length} removed\n`);
        return undefined;
      }
      const find = execsByPrefix(execs);
      return await onEach(ids, output, async (written) => {
        const { id, status } = await find(written);
        if (status === "RUNNING" || status === "STOPPING") {
          throw new Error(`it runs: end it with \`sandpipe stop ${id}\` first.`);
        }
        await execs.delete(id);
      });
    });
  },
});
