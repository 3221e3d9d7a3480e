import { throwIfAborted } from "../abort.js";
import { pathProperty } from "./file-path.js";
import type { OneAtATime } from "./one-at-a-time.js";
import { inputSchema, shown, wrongInput } from "./input.js";
import { linesOf } from "./text-match.js";
import { defineTool, type Tool } from "./tool.js";
import type { ToolFiles } from "./tool-files.js";

const NAME = "file_write";

/** The tool that writes a whole file. */
export function fileWriteTool(files: ToolFiles, changes: OneAtATime): Tool<typeof NAME> {
  return defineTool({
    name: NAME,
    description:
      "Writes a file: all of it or, where that fails, nothing. It replaces one that is there, and makes the directories above it. To change a part of a file, file_edit takes less.",
    inputSchema: inputSchema(
      {
        path: pathProperty("The file"),
        content: { type: "string", description: "All that the file is to have, as UTF-8." },
      },
      ["path", "content"],
    ),
    annotations: {
      title: "Write a file",
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: false,
    },
    run: ({ path, content }, { signal }) =>
      changes.next(async () => {
        throwIfAborted(signal);
        const before = await files.stat(path, signal);
        if (before?.kind === "directory") {
          throw wrongInput(NAME, `${shown(path)} is a directory: name a file in it`);
        }
        await files.write(path, content, signal);
        const bytes = new TextEncoder().encode(content).length;
        const what = before === undefined ? "a new file" : `it had ${before.size} bytes before`;
        const lines = linesOf(content).length;
        return `written: ${before?.path ?? path} (${what})\nsize: ${bytes} bytes, ${lines} lines`;
      }),
  });
}
