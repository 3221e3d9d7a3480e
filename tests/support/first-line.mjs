// @ts-check
import { once } from "node:events";
import { createInterface } from "node:readline";

/**
 * Resolves the first line that a program prints. Throws where the program ends before.
 *
 * @param {import("node:child_process").ChildProcess} child
 * @param {import("node:stream").Readable | null} [output] where it prints
 * @returns {Promise<string>}
 */
export async function firstLine(child, output = child.stdout) {
  if (output === null) throw new Error("the output of the program is not piped");
  const line = once(createInterface({ input: output }), "line");
  const end = once(child, "close").then(([code, signal]) => {
    throw new Error(`${child.spawnfile} ended before its first line: ${signal ?? code}`);
  });
  const [text] = await Promise.race([line, end]);
  return text;
}
