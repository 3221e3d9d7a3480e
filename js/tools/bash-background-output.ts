import { throwIfAborted } from "../abort.js";
import type { Background } from "../background.js";
import { inputSchema, shown, wrongInput } from "./input.js";
import { checkProcessId, statusLine } from "./processes.js";
import { type Excerpt, readExcerpt, readLines } from "./read-excerpt.js";
import { defineTool, type Tool } from "./tool.js";

/** How long one request waits, in milliseconds, so that a wait can be cut short. */
const SLICE_MS = 1000;

const NAME = "bash_background_output";

/**
 * How this program matches regular expressions. `backtracking`, as engines of JavaScript do: some take for
 * ever. `linear`: V8 is set to go over to an engine that does not, where an expression permits it.
 */
export type Matching = "backtracking" | "linear";

/** Which expressions may take for ever. */
const ENDLESS: Readonly<Record<Matching, string>> = {
  backtracking: "nested quantifiers, such as (a+)+",
  linear:
    "nested quantifiers, such as (a+)+, together with lookarounds, back references or large counted repetitions",
};

/** The tool that reads what a process has said, from where the read before it ended. */
export function bashBackgroundOutputTool(
  processes: Background,
  { maxOutputChars, matching }: { maxOutputChars: number; matching: Matching },
): Tool<typeof NAME> {
  return defineTool({
    name: NAME,
    description: `Gives how a process stands and its output, from \`offset\` up to the end, and the \`next_offset\` for the next call, which then gives only what is new. Output of more than ${maxOutputChars} characters is cut in the middle, and of binary output there is only its length; all of it is in the files that the result names.`,
    inputSchema: inputSchema(
      {
        process_id: { type: "string", minLength: 1, description: "The id that bash gave." },
        offset: {
          type: "integer",
          minimum: 0,
          description:
            "Where to begin, in bytes: the next_offset of the call before with the same stream. Default: 0.",
        },
        stream: {
          type: "string",
          enum: ["both", "stdout", "stderr"],
          description: "Which output. Default: both.",
        },
        filter: {
          type: "string",
          minLength: 1,
          description: `A JavaScript regular expression without flags: only the lines in which it finds something. It is tried on each line by itself, as the result shows it. Nothing ends one that takes for ever, as may one with ${ENDLESS[matching]}.`,
        },
        exclude: {
          type: "boolean",
          description: "Only the lines in which filter finds nothing. Default: false.",
        },
        wait_secs: {
          type: "number",
          minimum: 0,
          maximum: 3600,
          description:
            "Wait up to so many seconds until there is new output or the process has ended. Default: 0.",
        },
      },
      ["process_id"],
    ),
    annotations: {
      title: "Read the output of a background process",
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    run: async (input, { signal }) => {
      const { process_id: id, offset = 0, stream = "both", filter, exclude = false } = input;
      checkProcessId(id);
      if (exclude && filter === undefined) {
        throw wrongInput(NAME, "`exclude` must be left out where there is no `filter`");
      }
      const expression = filter === undefined ? undefined : expressionOf(filter);
      if (offset > 0) await checkOffset(processes, id, stream, offset);
      await waitForOutput(processes, id, stream, offset, (input.wait_secs ?? 0) * 1000, signal);
      if (expression === undefined) {
        const excerpt = await readExcerpt(processes, id, stream, offset, maxOutputChars);
        return await report(processes, id, excerpt, "(no new output)");
      }
      const isWanted = (line: string): boolean => expression.test(line) !== exclude;
      const options = { stream, offset, isWanted };
      const lines = await readLines(processes, id, options, maxOutputChars, signal);
      return await report(processes, id, lines, "(no such line)");
    },
  });
}

function expressionOf(filter: string): RegExp {
  try {
    return new RegExp(filter);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const problem = `\`filter\` must be a JavaScript regular expression, but is ${shown(filter)}: ${reason}`;
    throw wrongInput(NAME, problem, cause);
  }
}

/** Nothing would be found behind a place that is not there yet, for as long as it takes. */
async function checkOffset(
  processes: Background,
  id: string,
  stream: "both" | "stdout" | "stderr",
  offset: number,
): Promise<void> {
  const { nextOffset: end } = await processes.readOutput(id, { stream, tailBytes: 4, maxBytes: 4 });
  if (offset <= end) return;
  throw wrongInput(
    NAME,
    `\`offset\` must be the next_offset of a call with the same stream, but is ${offset}: ${stream === "both" ? "the output" : stream} ends at ${end}`,
  );
}

/** Waits until there is output behind a place, or there will be none. */
async function waitForOutput(
  processes: Background,
  id: string,
  stream: "both" | "stdout" | "stderr",
  offset: number,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const deadline = Date.now() + waitMs;
  for (let left = waitMs; left > 0; left = deadline - Date.now()) {
    const options = { stream, offset, maxBytes: 4, waitMs: Math.min(left, SLICE_MS) };
    const { nextOffset, status } = await processes.readOutput(id, options);
    throwIfAborted(signal);
    if (nextOffset > offset || status !== "running") return;
  }
}

async function report(
  processes: Background,
  id: string,
  excerpt: Excerpt & { hasMore?: boolean },
  nothing: string,
): Promise<string> {
  const { text, isCut, nextOffset, hasMore = false } = excerpt;
  const head = [
    statusLine(excerpt),
    `next_offset: ${nextOffset}${hasMore ? " (there is more)" : ""}`,
  ];
  if (isCut) {
    const { stdoutPath, stderrPath } = await processes.get(id);
    head.push(`full output: ${stdoutPath}, ${stderrPath}`);
  }
  return `${head.join("\n")}\n\n${text === "" ? nothing : text}`;
}
