import { background } from "../../../node.js";
import { aborted } from "../../ending/aborted.js";
import { killOverdue } from "../../ending/kill-overdue.js";
import { command } from "../../command-line/command.js";
import { milliseconds } from "../../command-line/option-values.js";
import { processesByPrefix } from "../../target/process-by-prefix.js";
import { reachRuntime, RUNTIME } from "../../target/runtime.js";
import { stopEach } from "../../ending/stop-each.js";

export const stop = command({
  name: "stop",
  summary: "stop processes and wait until they have ended",
  usage: "[OPTIONS] ID...",
  about:
    "Stops each process with all that it has started: SIGTERM to its process group, SIGKILL to what is " +
    "left after the grace period. It ends when nothing of them is left. ID may be the beginning of one.",
  options: {
    grace: { value: "SECONDS", help: "how long they may take to end [default: 10]" },
    ...RUNTIME,
  },
  operands: { least: 1, most: Infinity },
  notes: `
Ctrl+C does not give it up; a second one kills at once. Exit codes: as of \`sandpipe stop\`.
`,
  examples: ["sandpipe bg stop 3f9c04", "sandpipe bg stop --grace 60 3f9c04 8a77e1"],

  async run(values, ids) {
    const graceMs = milliseconds("--grace", values.grace ?? "10");
    const runtime = await reachRuntime(values);
    const processes = background(runtime);
    const find = processesByPrefix(processes);
    try {
      return await stopEach(ids, graceMs, async (written, forced) => {
        const { id } = await find(written);
        const stopped = processes.terminate(id, { graceMs });
        const killed = aborted(forced).then(() => processes.terminate(id, { graceMs: 0 }));
        return await Promise.race([stopped, killed]);
      });
    } finally {
      // After a kill that was not confirmed nothing more may come.
      await Promise.race([runtime.close(), killOverdue(AbortSignal.abort())]);
    }
  },
});
