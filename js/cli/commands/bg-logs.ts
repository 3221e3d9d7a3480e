import type { Background } from "../../background.js";
import type { ReadOutputOptions } from "../../core/sandpipe.js";
import { command, UsageError } from "../command.js";
import { processesByPrefix } from "../ids.js";
import { onTarget, PLACE } from "../machine.js";
import { positiveNumber, regularExpression } from "../option-values.js";
import type { OutputWriter } from "../output-writer.js";

/** How long the target waits for more output at a time, in milliseconds. */
const WAIT_MS = 20_000;

/** The fewest bytes that a read may be of. */
const MIN_READ_BYTES = 4;

export const logs = command({
  name: "logs",
  summary: "show the output of a process",
  usage: "[OPTIONS] ID",
  about:
    "Shows what a process has written, on stdout. ID may be the beginning of one. With both streams, what " +
    "was new on its stdout at a look comes before what was new on its stderr.",
  options: {
    follow: { short: "f", help: "go on with what it writes, up to its end" },
    grep: {
      value: "RE",
      help: "only the lines in which this regular expression (JavaScript's) is found",
    },
    stream: {
      offers: ["stdout", "stderr", "both"],
      value: "STREAM",
      help: "stdout, stderr or both [default: both]",
    },
    tail: { value: "BYTES", help: "only the last so many bytes, and what follows" },
    ...PLACE,
  },
  operands: "<ID>",
  offers: "bg ls -q",
  notes: `
Ctrl+C ends the watching, not the process.

Exit codes:
  0    all of it was shown, whatever the process's own exit code is
  2    the command line is wrong
  125  sandpipe itself failed; stderr says why
  130  Ctrl+C: it dies of SIGINT; 128 + N, of signal N, in the same way
  141  stdout was closed
`,
  examples: ["sandpipe bg logs 3f9c04", "sandpipe bg logs -f --grep 'error|warn' 3f9c04"],

  async run(values, [written = ""]) {
    const { stream = "both", grep, follow } = values;
    if (stream !== "both" && stream !== "stdout" && stream !== "stderr") {
      throw new UsageError(`--stream must be stdout, stderr or both, but is "${stream}"`);
    }
    const what: ReadOutputOptions = { stream };
    if (grep !== undefined) what.filter = regularExpression("--grep", grep);
    const tail =
      values.tail === undefined
        ? undefined
        : positiveNumber("--tail", values.tail, "number of bytes");
    return await onTarget(values, async (processes, { stdout }) => {
      const { id } = await processesByPrefix(processes)(written);
      await show(processes, id, what, { tail, follow }, stdout);
      return undefined;
    });
  },
});

/** Shows output up to where it ends now, or with `follow` up to where it ends at all. */
async function show(
  processes: Background,
  id: string,
  what: ReadOutputOptions,
  { tail, follow }: { tail: number | undefined; follow: boolean },
  stdout: OutputWriter,
): Promise<void> {
  const newest = { ...what, tailBytes: MIN_READ_BYTES };
  const end = follow ? Infinity : (await processes.readOutput(id, newest)).nextOffset;
  let place: ReadOutputOptions = tail === undefined ? { offset: 0 } : { tailBytes: tail };
  for (;;) {
    const waitMs = follow ? WAIT_MS : 0;
    const { output, nextOffset, status } = await processes.readOutput(id, {
      ...what,
      ...place,
      waitMs,
    });
    await stdout.write(output);
    const isAll = nextOffset === place.offset && (status !== "running" || !follow);
    if (isAll || nextOffset >= end) return;
    place = { offset: nextOffset };
  }
}
