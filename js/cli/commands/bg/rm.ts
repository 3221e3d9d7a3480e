import { command } from "../../command-line/command.js";
import { onEach } from "../../target/on-each.js";
import { onTarget } from "../../target/on-target.js";
import { processesByPrefix } from "../../target/process-by-prefix.js";
import { RUNTIME } from "../../target/runtime.js";

export const rm = command({
  name: "rm",
  summary: "remove processes that have ended, with their output",
  usage: "[OPTIONS] ID...",
  about: "Removes processes that have ended, with their output. ID may be the beginning of one.",
  options: { ...RUNTIME },
  operands: { least: 1, most: Infinity },
  notes: `
Exit codes:
  0    all are removed
  1    one could not be removed, since it runs, say; stderr says which and why
  2    the command line is wrong
  125  sandpipe itself failed; stderr says why
  130  Ctrl+C: it dies of SIGINT; 128 + N, of signal N, in the same way; some may have been removed
  141  stderr was closed
`,
  examples: ["sandpipe bg rm 3f9c04 8a77e1"],

  async run(values, ids) {
    return await onTarget(values, async (processes, output) => {
      const find = processesByPrefix(processes);
      return await onEach(ids, output, async (written) =>
        processes.remove((await find(written)).id),
      );
    });
  },
});
