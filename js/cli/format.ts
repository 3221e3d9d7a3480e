/** What went wrong and what to do, as stderr has it: on one line, with the program's name. */
export function errorLine(message: string): string {
  return `sandpipe: ${escaped(message.replaceAll(/\s*[\r\n]+\s*/g, " ").trim())}\n`;
}

/**
 * Characters that a terminal acts upon, or that show nothing: controls, ends of lines, marks of direction, zero-width characters, tags, and
 * annotations between lines. The agent has the same (`crates/agent/src/shown.rs`).
 */
const INVISIBLE = /[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/gu;

const ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** A text as one line in which every character shows. */
export function escaped(text: string): string {
  return text.replaceAll(INVISIBLE, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    if (code.length > 4) return `\\u{${code}}`;
    const escape = code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
    return ESCAPES[character] ?? escape;
  });
}

/** A value as JSON, for people to read as well. */
export function json(value: unknown): string {
  return `${inert(JSON.stringify(value, undefined, 2))}\n`;
}

/** The same on one line. */
export function jsonLine(value: unknown): string {
  return `${inert(JSON.stringify(value))}\n`;
}

/** JSON whose texts have escapes for what would not show. Its own line ends stay. */
function inert(text: string): string {
  const escapeOf = (unit: string): string =>
    `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replaceAll(INVISIBLE, (character) =>
    character === "\n" ? character : character.split("").map(escapeOf).join(""),
  );
}

/** A number of bytes, for people. */
export function sizeText(bytes: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  const size = bytes / 1000 ** power;
  return `${power > 0 && size < 10 ? size.toFixed(1) : Math.floor(size)} ${units[power] ?? ""}`;
}

/** Arguments as a POSIX shell reads them back, byte for byte. */
export function shellQuote(args: readonly string[]): string {
  return args.map(quoted).join(" ");
}

function quoted(arg: string): string {
  // `=` and `~` mean something at the beginning of a command and of a word.
  return /^[\w@%+:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`;
}

/**
 * Says how a line for a shell is run, which was given as if it were the name of a program.
 *
 * @param args The arguments of this program, of which the line is the last.
 */
export function shellHint(args: readonly string[]): string {
  const line = args.at(-1) ?? "";
  const before = args.slice(0, args.at(-2) === "--" ? -2 : -1);
  const inShell = `sandpipe ${shellQuote([...before, "--", "sh", "-c", line])}`;
  return `"${line}" was taken for the name of a program: if it is a line for a shell, run \`${inShell}\`.`;
}
