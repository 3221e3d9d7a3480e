import { readFileSync } from "node:fs";

import { UsageError } from "./command.js";

/** Stands in texts of Node.js for bytes that are not UTF-8. */
const REPLACEMENT = "\ufffd";

/**
 * Checks that arguments have reached this program unchanged: Node.js replaces bytes that are not UTF-8. Linux alone shows the bytes.
 *
 * @throws {UsageError} One was not UTF-8.
 */
export function checkArguments(args: readonly string[]): void {
  if (args.some(hasReplacement))
    checkUtf8("/proc/self/cmdline", (word) => `the argument "${word}"`);
}

/**
 * Checks the same for a variable of the environment.
 *
 * @throws {UsageError} One was not UTF-8.
 */
export function checkVariable(name: string, value: string): void {
  if (hasReplacement(value))
    checkUtf8("/proc/self/environ", () => `the value of ${name}`, `${name}=`);
}

function hasReplacement(text: string): boolean {
  return text.includes(REPLACEMENT);
}

function checkUtf8(file: string, describe: (word: string) => string, prefix = ""): void {
  let bytes;
  try {
    bytes = readFileSync(file, "latin1");
  } catch {
    return;
  }
  for (const word of bytes.split("\0").filter((each) => each.startsWith(prefix))) {
    const text = Buffer.from(word, "latin1");
    if (Buffer.from(text.toString()).equals(text)) continue;
    throw new UsageError(
      `${describe(text.toString())} is not UTF-8, and Node.js would change its bytes: pass it in a file or by stdin`,
    );
  }
}
