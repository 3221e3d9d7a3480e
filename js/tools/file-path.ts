import { type InputProperty, shown, wrongInput } from "./input.js";
import type { AbortSignal } from "../platform.js";
import type { FileFacts, ToolFiles } from "./tool-files.js";

/** The schema of a path. */
export function pathProperty(what: string): Extract<InputProperty, { type: "string" }> {
  const description = `${what}: absolute, or relative to the directory in which bash runs.`;
  return { type: "string", minLength: 1, description };
}

/**
 * What a path leads to, which is a file.
 *
 * @throws {InvalidArgumentError} There is nothing, or something else.
 */
export async function checkFile(
  tool: string,
  files: ToolFiles,
  path: string,
  signal: AbortSignal | undefined,
): Promise<FileFacts> {
  const found = await files.stat(path, signal);
  if (found === undefined) throw missing(tool, path);
  if (found.kind !== "file") throw wrongInput(tool, `${shown(path)} is ${WHAT[found.kind]}`);
  return found;
}

/** There is nothing at a path. */
export function missing(tool: string, path: string): Error {
  return wrongInput(tool, `there is no ${shown(path)}. file_list shows what a directory has`);
}

const WHAT = {
  directory: "a directory: file_list shows what is in it",
  other: "neither a file nor a directory",
} as const;
