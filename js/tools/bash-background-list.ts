import type { Background } from "../background.js";
import type { BackgroundProcess } from "../core/sandpipe.js";
import { inputSchema } from "./input.js";
import { statusLine } from "./processes.js";
import { oneLine } from "./text.js";
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
      return list.length === 0
        ? "There is no process."
        : within(list.map(described), maxOutputChars);
    },
  });
}

/** As many of the first as there is room for, and how many there are besides. */
function within(entries: string[], budget: number): string {
  let text = "";
  for (const [index, entry] of entries.entries()) {
    const older = `… and ${entries.length - index} older ones`;
    if (text.length + entry.length + older.length + 4 > budget) return text + older;
    text += `${entry}\n\n`;
  }
  return text.trimEnd();
}

function described(process: BackgroundProcess): string {
  const { id, name, startedAt, exitedAt, stdoutPath, stderrPath } = process;
  return [
    `process_id: ${id}`,
    ...(name === undefined ? [] : [`display_name: ${oneLine(name)}`]),
    statusLine(process),
    `started at: ${startedAt}${exitedAt === undefined ? "" : `, ended at: ${exitedAt}`}`,
    `stdout_path: ${stdoutPath}`,
    `stderr_path: ${stderrPath}`,
  ].join("\n");
}
