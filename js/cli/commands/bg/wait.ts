import { command } from "../../command-line/command.js";
import { OWN_FAILURE, TIMED_OUT } from "../../ending/ending.js";
import { onTarget } from "../../target/on-target.js";
import { timeLimit } from "../../command-line/option-values.js";
import { processesByPrefix } from "../../target/process-by-prefix.js";
import { withProgress } from "../../screen/progress.js";
import { RUNTIME } from "../../target/runtime.js";

export const wait = command({
  name: "wait",
  summary: "wait for the end of a process; its exit code becomes sandpipe's own",
  usage: "[OPTIONS] ID",
  about:
    "Waits for the end of a process, and ends with its exit code. ID may be the beginning of one.",
  options: {
    timeout: { value: "SECONDS", help: "wait no longer; the process goes on [default: for ever]" },
    ...RUNTIME,
  },
  operands: { least: 1, most: 1 },
  notes: `
Ctrl+C ends the waiting, not the process.

Exit codes:
  the process's own  128 + N after death by signal N, 124 after its own timeout
  2                  the command line is wrong
  124                the timeout passed, and the process goes on; stderr says so
  125                sandpipe itself failed, or nobody knows how the process ended; stderr says why
  130                Ctrl+C: it dies of SIGINT; 128 + N, of signal N, in the same way
`,
  examples: ["sandpipe bg wait 3f9c04", "sandpipe bg wait --timeout 60 3f9c04 || echo 'not well'"],

  async run(values, [written = ""]) {
    const timeoutMs = timeLimit("--timeout", values.timeout);
    return await onTarget(values, async (processes, _, told) => {
      const { id } = await processesByPrefix(processes)(written);
      const options = timeoutMs === undefined ? { signal: told } : { signal: told, timeoutMs };
      const waiting = processes.wait(id, options);
      const { status, exitCode } = await withProgress(`waiting for ${id}`, waiting, told);
      if (status === "running") {
        return { exitCode: TIMED_OUT, message: `process ${id} still runs.` };
      }
      const unknown = `process ${id} is gone, and how it ended is not known.`;
      return exitCode === undefined ? { exitCode: OWN_FAILURE, message: unknown } : { exitCode };
    });
  },
});
