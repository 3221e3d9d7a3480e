import { checkFile, pathProperty } from "./file-path.js";
import { inputSchema, wrongInput } from "./input.js";
import { NumberedLines } from "./numbered-lines.js";
import { isBinary } from "./text.js";
import { defineTool, type Tool } from "./tool.js";
import type { FileFacts, ToolFiles } from "./tool-files.js";
import type { AbortSignal } from "../platform.js";

const NAME = "file_read";

/** How much of the beginning says whether a file is text, in characters. */
const LOOKED_AT = 8192;

/** The tool that shows lines of a file. */
export function fileReadTool(
  files: ToolFiles,
  { maxOutputChars }: { maxOutputChars: number },
): Tool<typeof NAME> {
  return defineTool({
    name: NAME,
    description: `Shows lines of a text file, each behind its number and a tab. At most ${maxOutputChars} characters are shown, and 2000 of one line: the result says where it goes on. A binary file is not shown, only how long it is.`,
    inputSchema: inputSchema(
      {
        path: pathProperty("The file"),
        start_line: {
          type: "integer",
          minimum: 1,
          description: "The first line that is shown. Default: 1.",
        },
        end_line: {
          type: "integer",
          minimum: 1,
          description: "The last line that is shown. Default: the last of the file.",
        },
      },
      ["path"],
    ),
    annotations: {
      title: "Read a file",
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    run: async ({ path, start_line: first = 1, end_line: last = Infinity }, { signal }) => {
      if (last < first) {
        const problem = `\`end_line\` must not be before \`start_line\` (${first}), but is ${last}`;
        throw wrongInput(NAME, problem);
      }
      const file = await checkFile(NAME, files, path, signal);
      const lines = new NumberedLines({ first, last, budget: maxOutputChars });
      const read = await readText(files, path, lines, signal);
      if (read === undefined) {
        return `path: ${file.path} (${sizeOf(file)})\n\n(a binary file: bash can look at it, with \`file\` or \`od -c\`)`;
      }
      if (lines.lastShown === 0 && first > 1) {
        const problem = `\`start_line\` must be a line of the file, but is ${first}: it has ${lines.count}`;
        throw wrongInput(NAME, problem);
      }
      return shown(file, lines, first, read);
    },
  });
}

/** What was seen of a file's text. */
interface Seen {
  /** It begins with a byte order mark. */
  hasMark: boolean;
  hasCrLf: boolean;
  hasLf: boolean;
  /** Bytes that are no UTF-8. */
  hasWrongBytes: boolean;
  /** The file's end was read. */
  isToTheEnd: boolean;
  /** The last line has no line end. */
  isOpen: boolean;
}

/** Reads up to the last line that is wanted; undefined where the file is binary. */
async function readText(
  files: ToolFiles,
  path: string,
  lines: NumberedLines,
  signal: AbortSignal | undefined,
): Promise<Seen | undefined> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const seen = {
    hasMark: false,
    hasCrLf: false,
    hasLf: false,
    hasWrongBytes: false,
    isToTheEnd: true,
    isOpen: false,
  };
  let last = "";
  let isFirst = true;
  for await (const chunk of files.read(path, signal)) {
    const decoded = decoder.decode(chunk, { stream: true });
    if (decoded === "") continue;
    if (isFirst) seen.hasMark = decoded.startsWith("\ufeff");
    const text = isFirst && seen.hasMark ? decoded.slice(1) : decoded;
    if (isFirst ? isBinary(text.slice(0, LOOKED_AT)) : text.includes("\0")) return undefined;
    isFirst = false;
    seen.hasCrLf ||= (last + text).includes("\r\n");
    seen.hasLf ||= /[^\r]\n/.test(last + text);
    seen.hasWrongBytes ||= text.includes("\ufffd");
    last = text.slice(-1);
    if (!lines.take(text)) {
      seen.isToTheEnd = false;
      break;
    }
  }
  if (seen.isToTheEnd) {
    lines.take(decoder.decode());
    seen.isOpen = lines.end();
  }
  return seen;
}

function shown(file: FileFacts, lines: NumberedLines, first: number, seen: Seen): string {
  const head = [`path: ${file.path} (${sizeOf(file)})`];
  const { lastShown } = lines;
  if (lastShown > 0) {
    const range = `lines: ${first}-${lastShown}`;
    const isAll = seen.isToTheEnd && !lines.isFull;
    head.push(
      isAll
        ? `${range} of ${lines.count}`
        : `${range} (there may be more: start_line ${lastShown + 1})`,
    );
  }
  if (seen.hasMark) head.push("begins with a byte order mark (U+FEFF), which is not shown");
  if (seen.hasCrLf) head.push(`line ends: CRLF${seen.hasLf ? " and LF, mixed" : ""}`);
  if (seen.hasWrongBytes) head.push("not all of it is UTF-8: such bytes show as U+FFFD");
  if (seen.isOpen && !lines.isFull) head.push("the last line has no line end");
  return `${head.join("\n")}\n\n${lastShown === 0 ? "(the file is empty)" : lines.text}`;
}

function sizeOf({ size }: FileFacts): string {
  return `${size} bytes`;
}
