import { missing, pathProperty } from "./file-path.js";
import { inputSchema, shown, wrongInput } from "./input.js";
import { plainText } from "./text.js";
import { defineTool, type Tool } from "./tool.js";
import type { ListedFile, ToolFiles } from "./tool-files.js";

const NAME = "file_list";

/** The tool that lists a directory. */
export function fileListTool(
  files: ToolFiles,
  { maxOutputChars }: { maxOutputChars: number },
): Tool<typeof NAME> {
  return defineTool({
    name: NAME,
    description: `Lists what is in a directory, a line each in order of names: directories with a slash behind them, files with their sizes in bytes, symbolic links with what they lead to. At most ${maxOutputChars} characters: the result says how many there are besides.`,
    inputSchema: inputSchema(
      {
        path: pathProperty("The directory. Default: the directory itself in which bash runs"),
        depth: {
          type: "integer",
          minimum: 1,
          maximum: 64,
          description: "How many levels: 2 has what is in its directories, too. Default: 1.",
        },
      },
      [],
    ),
    annotations: {
      title: "List a directory",
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    run: async ({ path = ".", depth = 1 }, { signal }) => {
      const found = await files.stat(path, signal);
      if (found === undefined) throw missing(NAME, path);
      if (found.kind !== "directory") {
        throw wrongInput(NAME, `${shown(path)} is no directory: file_read shows a file`);
      }
      const { files: listed, hasMore } = await files.list(path, depth, signal);
      const noun = listed.length === 1 ? "entry" : "entries";
      const count = `${listed.length}${hasMore ? " or more" : ""} ${noun}`;
      const lines = listed.length === 0 ? "(nothing is in it)" : within(listed, maxOutputChars);
      return `path: ${found.path} (${count})\n\n${lines}`;
    },
  });
}

/** As many as there is room for, and how many there are besides. */
function within(files: readonly ListedFile[], budget: number): string {
  let text = "";
  for (const [index, file] of files.entries()) {
    const more = `… and ${files.length - index} more: list one of the directories, or fewer levels\n`;
    const line = described(file);
    if (text.length + line.length + more.length > budget) return text + more;
    text += line;
  }
  return text;
}

function described({ name, isDirectory, size, linkTarget }: ListedFile): string {
  // A name is to look like one line, and like nothing else.
  const line = plainText(name).replaceAll("\n", "?");
  if (isDirectory) return `${line}/\n`;
  if (linkTarget !== undefined)
    return `${line} -> ${plainText(linkTarget).replaceAll("\n", "?")}\n`;
  return size === undefined ? `${line}\n` : `${line} (${size} bytes)\n`;
}
