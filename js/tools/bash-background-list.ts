import type { Background, BackgroundProcess } from "../background.js";
import { cutMiddle } from "./cut-middle.js";
import { ending } from "./ending.js";
import { inputSchema } from "./input.js";
import { defineTool, type Tool } from "./tool.js";

/** The tool that lists processes. */
export function bashBackgroundListTool(
  processes: Background,
  { maxOutputChars }: { maxOutputChars: number },
): Tool<"bash_background_list"> {
  return defineTool({
    name: "bash_background_list",
    description:
      "Lists the processes that bash has started, newest first: those in the background, whoever started them, and commands in the foreground that still run or whose output was too long for their answer.",
    inputSchema: inputSchema({}, []),
    annotations: {
      title: "List background processes",
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    run: async () => {
      const list = await processes.list();
      if (list.length === 0) return "There is no process.";
      const text = list.map(described).join("\n\n");
      return text.length > maxOutputChars ? cutMiddle(text, text, maxOutputChars) : text;
    },
  });
}

function described(process: BackgroundProcess): string {
  const { id, name, startedAt, exitedAt, stdoutPath, stderrPath } = process;
  return [
    `process_id: ${id}`,
    ...(name === undefined ? [] : [`display_name: ${name}`]),
    ending(process),
    `started at: ${startedAt}${exitedAt === undefined ? "" : `, ended at: ${exitedAt}`}`,
    `stdout_path: ${stdoutPath}`,
    `stderr_path: ${stderrPath}`,
  ].join("\n");
}
