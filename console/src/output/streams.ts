import type { ExecStdout, OutputType } from "sandpipe";

/** Which output is shown. */
export const STREAMS = { all: "All", stdout: "stdout", stderr: "stderr" };

export type Streams = keyof typeof STREAMS;

export function isShown(type: OutputType, streams: Streams): boolean {
  return streams === "all" || streams === type;
}

/** What stands before each line of stderr, so that it is not known by its colour alone. */
export const STDERR_MARK = "┃ ";

/** A piece of stderr that begins a line, with the mark before each line. */
export function marked(output: string): string {
  return STDERR_MARK + goingOn(output);
}

/** The same for a piece that goes on with a line. */
function goingOn(output: string): string {
  return output.replace(/\n(?!$)/g, `\n${STDERR_MARK}`);
}

const RED = "\x1b[31m";
const DEFAULT_COLOUR = "\x1b[39m";

/** Makes stderr red, and puts a mark before each of its lines. */
export class StreamMarker {
  /** The stream that the cursor's line was begun by; undefined at the beginning of a line. */
  #line: OutputType | undefined;

  mark({ type, output }: Pick<ExecStdout, "type" | "output">): string {
    if (output === "") return "";
    const goesOn = this.#line === type;
    this.#line = output.endsWith("\n") ? undefined : type;
    if (type === "stdout") return output;
    return `${RED}${goesOn ? goingOn(output) : marked(output)}${DEFAULT_COLOUR}`;
  }
}

/** A text that was copied from the screen, without the marks. */
export function unmarked(text: string): string {
  return text.replaceAll(STDERR_MARK, "");
}
