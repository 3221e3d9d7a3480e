import type { OutputEvent } from "../../events.js";
import { CONNECTION, connectToNamed } from "../agent.js";
import { command } from "../command.js";
import { interruptible } from "../exit-decision.js";
import { execsByPrefix } from "../ids.js";
import { positiveNumber } from "../option-values.js";
import { jsonLine } from "../format.js";
import { LostOutput } from "../lost-output.js";
import { outputPieces } from "../output-pieces.js";

export const logs = command({
  name: "logs",
  summary: "show the output of a command",
  usage: "[OPTIONS] ID",
  about:
    "Shows what a command has written: its stdout on stdout, its stderr on stderr. ID may be the " +
    "beginning of one.",
  options: {
    follow: { short: "f", help: "go on with what it writes, up to its end" },
    since: {
      value: "SEQ",
      help: "only the pieces from this sequence number on; --json shows the numbers [default: 1]",
    },
    json: {
      help: "one JSON object a line for each piece: type, output, sequence, timestamp, exitCode",
    },
    ...CONNECTION,
  },
  operands: "<ID>",
  offers: "ps -q",
  notes: `
Ctrl+C ends the watching, not the command.

Exit codes:
  0    all of it was shown, whatever the command's own exit code is
  2    the command line is wrong
  125  sandpipe itself failed, or some of it is lost; stderr says why
  130  Ctrl+C: it dies of SIGINT; 128 + N, of signal N, in the same way
  141  stdout or stderr was closed
`,
  examples: ["sandpipe logs 3f9c04", "sandpipe logs -f 3f9c04 | grep -i error"],

  async run(values, [written = ""]) {
    const since = values.since === undefined ? 1 : positiveNumber("--since", values.since);
    const { execs } = await connectToNamed(values);
    return await interruptible(async (output) => {
      const { id } = await execsByPrefix(execs)(written);
      const last = values.follow ? Infinity : (await execs.getOutput(id, -1)).lastSequence;
      if (last < since) return undefined;
      const lost = new LostOutput();
      const read = (after: number): AsyncIterable<OutputEvent<Uint8Array | string>> =>
        values.json ? execs.streamOutput(id, after) : outputPieces(execs, id, after);
      for await (const piece of lost.skip(read, since - 1)) {
        if (values.json) await output.stdout.write(jsonLine(piece));
        else await output[piece.type].write(piece.output);
        if (piece.sequence >= last) break;
      }
      return lost.outcome(0);
    });
  },
});
