import type { Background } from "../background.js";
import { InvalidArgumentError } from "../errors.js";
import { ending } from "./ending.js";
import { inputSchema } from "./input.js";
import { readExcerpt, readMatchingLines, type Excerpt } from "./read-excerpt.js";
import { defineTool, type Tool } from "./tool.js";

/** How long one request waits, in milliseconds, so that a wait can be cut short. */
const SLICE_MS = 1000;

/** The tool that reads what a process has said, from where the read before it ended. */
export function bashBackgroundOutputTool(
  processes: Background,
  { maxOutputChars }: { maxOutputChars: number },
): Tool<"bash_background_output"> {
  return defineTool({
    name: "bash_background_output",
    description: `Gives how a process stands and its output, from \`offset\` up to the end, and the \`next_offset\` for the next call, which then gives only what is new. Output of more than ${maxOutputChars} characters is cut in the middle; all of it is in the files that the result names.`,
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
          description:
            "A JavaScript regular expression: only the lines in which it finds something. Nothing ends one that takes for ever, as nested quantifiers such as (a+)+ may.",
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
      if (offset > 0) await checkOffset(processes, id, stream, offset);
      await waitForNews(processes, id, stream, offset, (input.wait_secs ?? 0) * 1000, signal);
      if (filter === undefined) {
        const excerpt = await readExcerpt(processes, id, stream, offset, maxOutputChars);
        return await report(processes, id, excerpt, "(no new output)");
      }
      const options = { stream, offset, filter, exclude };
      const lines = await readMatchingLines(processes, id, options, maxOutputChars, signal);
      return await report(processes, id, lines, "(no such line)");
    },
  });
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
  throw new InvalidArgumentError(
    `\`offset\` must be the next_offset of a call with the same stream, but is ${offset}: ${stream === "both" ? "the output" : stream} ends at ${end}`,
  );
}

/** Waits until there is output behind a place, or there will be none. */
async function waitForNews(
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
    signal?.throwIfAborted();
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
  const head = [ending(excerpt), `next_offset: ${nextOffset}${hasMore ? " (there is more)" : ""}`];
  if (isCut) {
    const { stdoutPath, stderrPath } = await processes.get(id);
    head.push(`full output: ${stdoutPath}, ${stderrPath}`);
  }
  return `${head.join("\n")}\n\n${text === "" ? nothing : text}`;
}
