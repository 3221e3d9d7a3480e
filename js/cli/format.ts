/** What went wrong and what to do, as stderr has it: on one line, with the program's name. */
export function errorLine(message: string): string {
  return `sandpipe: ${escaped(message.replaceAll(/\s*[\r\n]+\s*/g, " ").trim())}\n`;
}

/** Control characters, and those that change the direction or the line of what follows. */
const INVISIBLE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

const ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** A text as one line, with nothing in it that a terminal would act upon. */
export function escaped(text: string): string {
  return text.replaceAll(INVISIBLE, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return ESCAPES[character] ?? (code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, "0")}`);
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

/** What JSON leaves as it is, and a terminal may act upon: C1 controls, and changes of direction. */
const ACTIVE = /[\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;

function inert(text: string): string {
  return text.replaceAll(ACTIVE, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
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
