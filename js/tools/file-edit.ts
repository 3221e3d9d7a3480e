import { throwIfAborted } from "../abort.js";
import { checkFile, pathProperty } from "./file-path.js";
import type { OneAtATime } from "./one-at-a-time.js";
import { inputSchema, shown, wrongInput } from "./input.js";
import { nearest } from "./nearest.js";
import { numberedLines } from "./numbered-lines.js";
import { lineNumbersOf, linesOf, placesOf, replacedAt, withLineEndsOf } from "./text-match.js";
import { defineTool, type Tool } from "./tool.js";
import type { ToolFiles } from "./tool-files.js";
import type { AbortSignal } from "../platform.js";

const NAME = "file_edit";

/** The longest file that is edited, in bytes: it is held in memory, more than once. */
const MAX_BYTES = 16 * 1024 * 1024;

/** How many lines are shown before and after a change. */
const AROUND = 3;

/** How many places are named. */
const MAX_PLACES = 20;

/** The tool that replaces a text in a file by another. */
export function fileEditTool(
  files: ToolFiles,
  changes: OneAtATime,
  { maxOutputChars }: { maxOutputChars: number },
): Tool<typeof NAME> {
  return defineTool({
    name: NAME,
    description:
      "Replaces a text in a file by another. `old_text` must be exactly as the file has it, with its white space and without line numbers, and there only once, unless `replace_all` is set: add lines around it where it is not. The result shows the lines around the change; where nothing fits, the error shows the lines that are most like it. In a file whose lines all end with CRLF, `\\n` stands for that.",
    inputSchema: inputSchema(
      {
        path: pathProperty("The file"),
        old_text: { type: "string", minLength: 1, description: "What the file has." },
        new_text: { type: "string", description: "What it is to have instead; may be empty." },
        replace_all: {
          type: "boolean",
          description: "Replace it wherever it is. Default: false, and it must be there once.",
        },
      },
      ["path", "old_text", "new_text"],
    ),
    annotations: {
      title: "Edit a file",
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: false,
    },
    run: ({ path, old_text: old, new_text: replacement, replace_all: all = false }, { signal }) =>
      changes.next(async () => {
        throwIfAborted(signal);
        if (old === replacement) {
          throw wrongInput(NAME, "`new_text` must be another than `old_text`, but is the same");
        }
        const before = await readText(files, path, signal);
        const wanted = withLineEndsOf(before, old);
        const places = placesOf(wanted, before);
        if (places.length === 0) throw wrongInput(NAME, notFound(before, wanted, maxOutputChars));
        if (places.length > 1 && !all) throw wrongInput(NAME, ambiguous(before, places));
        const given = withLineEndsOf(before, replacement);
        const after = replacedAt(before, places, wanted.length, given);
        await files.write(path, after, signal);
        return report(path, after, places, wanted.length, given, maxOutputChars);
      }),
  });
}

/**
 * The whole text of a file.
 *
 * @throws {InvalidArgumentError} It is none, or too long.
 */
async function readText(
  files: ToolFiles,
  path: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  await checkFile(NAME, files, path, signal);
  // What is no UTF-8 would be written back as something else; a mark at the beginning is kept.
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let [text, bytes] = ["", 0];
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
    } catch (cause) {
      throw wrongInput(NAME, `${shown(path)} is not UTF-8 text: change it by bash`, cause);
    }
  };
  for await (const chunk of files.read(path, signal)) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) {
      const problem = `${shown(path)} is longer than ${MAX_BYTES} bytes: change it by bash, with sed for example`;
      throw wrongInput(NAME, problem);
    }
    text += decode(chunk);
  }
  return text + decode();
}

/** What is said of a text that the file does not have. */
function notFound(text: string, wanted: string, budget: number): string {
  const facts = "`old_text` must be a text of the file, but is not in it";
  const file = linesOf(text);
  const place = nearest(file, linesOf(wanted));
  if (place === undefined) return `${facts}, nor anything like it. file_read shows what is there`;
  const { line, count, differsAt, wanted: differing, isSpaceOnly } = place;
  const difference =
    differsAt === undefined
      ? "they differ in their line ends"
      : isSpaceOnly
        ? `nothing but white space differs, first in line ${differsAt}`
        : `first, in place of line ${differsAt}, it has ${shown(differing)}`;
  const from = Math.max(line - AROUND, 1);
  const lines = file.slice(from - 1, line - 1 + count + AROUND);
  return `${facts}. Most like it are these lines; ${difference}:\n\n${numberedLines(lines, from, budget)}`;
}

/** What is said of a text that the file has more than once. */
function ambiguous(text: string, places: readonly number[]): string {
  const count = `${places.length} times, in lines ${lineList(text, places)}`;
  return `\`old_text\` must be in the file once, but is there ${count}. Add lines around it, or set \`replace_all\``;
}

function lineList(text: string, places: readonly number[]): string {
  const lines = lineNumbersOf(text, places.slice(0, MAX_PLACES));
  return lines.join(", ") + (places.length > MAX_PLACES ? ", …" : "");
}

/** What was changed, and the lines around the first change. */
function report(
  path: string,
  after: string,
  places: readonly number[],
  oldLength: number,
  replacement: string,
  budget: number,
): string {
  const grown = replacement.length - oldLength;
  const now = places.map((place, index) => place + index * grown);
  const [first = 1] = lineNumbersOf(after, now);
  const last = first + linesOf(replacement).length - 1;
  const from = Math.max(first - AROUND, 1);
  const lines = linesOf(after).slice(from - 1, Math.max(last, first) + AROUND);
  const where = `${places.length === 1 ? "line" : "lines"} ${lineList(after, now)}`;
  const count = places.length === 1 ? "1 place" : `${places.length} places`;
  return `edited: ${path} (${count}, ${where})\n\n${numberedLines(lines, from, budget) || "(the file is empty)"}`;
}
