/** A program and its arguments. */
export interface Command {
  command: string;
  args: string[];
  /** It is only the beginning. */
  argsTruncated?: boolean;
}

/** What reads a command line: a shell, or nothing but the quotes in it. */
export const INTERPRETERS = ["sh", "bash", "none"] as const;

export type Interpreter = (typeof INTERPRETERS)[number];

/**
 * The command that a line stands for.
 *
 * @throws {Error} There is none in it, or a quote is not closed.
 */
export function commandOf(line: string, interpreter: Interpreter): Command {
  if (line.trim() === "") throw new Error("Enter a command.");
  if (interpreter !== "none") return { command: interpreter, args: ["-c", line] };
  const [command = "", ...args] = words(line);
  return { command, args };
}

/** The words of a line: quotes and backslashes as a shell reads them, and nothing else. */
function words(line: string): string[] {
  const found: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let index = 0; index < line.length; index++) {
    const character = line.charAt(index);
    if (quote !== "") {
      if (character === quote) quote = "";
      else if (character === "\\" && quote === '"' && /["\\]/.test(line.charAt(index + 1))) {
        word = (word ?? "") + line.charAt(++index);
      } else word = (word ?? "") + character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= "";
    } else if (character === "\\" && index + 1 < line.length) {
      word = (word ?? "") + line.charAt(++index);
    } else if (/\s/.test(character)) {
      if (word !== undefined) found.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  if (quote !== "") throw new Error(`The quote ${quote} is not closed: ${line}`);
  if (word !== undefined) found.push(word);
  return found;
}

/** A command as one writes it for a shell; `…` stands for what is not known of it. */
export function lineOf({ command, args, argsTruncated = false }: Command): string {
  return [command, ...args].map(quoted).join(" ") + (argsTruncated ? "…" : "");
}

/** Writes the command line that runs a command at an agent. Its token is in SANDPIPE_TOKEN. */
export function lineAt(url: string, command: readonly string[], how = ["run"]): string {
  return lineOf({ command: "sandpipe", args: [...how, "--url", url, "--", ...command] });
}

/** A shell's script without the shell, any other command as it is. */
export function shortLineOf(item: Command): string {
  return scriptOf(item) ?? lineOf(item);
}

/** The script that a shell was given, if that is all it was given. */
export function scriptOf({ command, args, argsTruncated = false }: Command): string | undefined {
  const [option, script, ...more] = args;
  if (option !== "-c" || script === undefined || more.length > 0) return undefined;
  if (!INTERPRETERS.some((name) => name === command)) return undefined;
  return argsTruncated ? `${script}…` : script;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
