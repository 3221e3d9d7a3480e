import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Where a program is, by the directories of `PATH`; undefined where it is in none. */
export function findProgram(name: string): string | undefined {
  const file = process.platform === "win32" ? `${name}.exe` : name;
  // An empty entry is the current directory (POSIX, 8.3), where nobody looks for an engine.
  const directories = (process.env["PATH"] ?? "").split(delimiter).filter((entry) => entry !== "");
  return directories.map((directory) => join(directory, file)).find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
