// Windows: paths between it and Git Bash, and how a process is ended. Pure functions, tested as such: they were
// not run on Windows.
import { InvalidArgumentError } from "../core/errors.js";

/**
 * A path of Windows as Git Bash has it: `C:\a b` is `/c/a b`, `\\server\share` is `//server/share`.
 * Forward slashes are as good as backslashes, and a relative path stays relative.
 *
 * It was not run on Windows.
 *
 * @throws {InvalidArgumentError} The path depends on a drive's current directory (`C:`, `C:a`), or on
 * the current drive (`\a`): Git Bash knows neither.
 */
export function toGitBashPath(path: string): string {
  // Paths that Windows takes as they are: `\\?\C:\a` and `\\?\UNC\server\share`.
  const plain = path.replace(/^\\\\\?\\UNC\\/i, "\\\\").replace(/^\\\\\?\\(?=[a-z]:)/i, "");
  const slashed = plain.replaceAll("\\", "/");
  const [, drive, rest = ""] = /^([a-z]):(.*)$/is.exec(slashed) ?? [];
  if (drive !== undefined) {
    if (!rest.startsWith("/")) throw dependent(path, "its drive's current directory");
    return `/${drive.toLowerCase()}${rest}`;
  }
  if (slashed.startsWith("/") && !slashed.startsWith("//")) {
    // With forward slashes it is one of Git Bash's own.
    if (plain.startsWith("\\")) throw dependent(path, "the current drive");
    return path;
  }
  return slashed;
}

/**
 * A path of Git Bash as Windows has it: `/c/a b` is `C:\a b`, `//server/share` is `\\server\share`.
 * A path of Windows stays what it is, with backslashes.
 *
 * It was not run on Windows.
 *
 * @throws {InvalidArgumentError} The path is below Git Bash's own root (`/usr/bin`): only
 * `cygpath` knows where that is.
 */
export function toWindowsPath(path: string): string {
  const [, drive, rest = ""] = /^\/([a-z])(\/.*)?$/is.exec(path) ?? [];
  if (drive !== undefined) {
    return `${drive.toUpperCase()}:${rest === "" ? "\\" : rest.replaceAll("/", "\\")}`;
  }
  if (path.startsWith("/") && !path.startsWith("//")) {
    throw new InvalidArgumentError(
      `${JSON.stringify(path)} is below Git Bash's own root: name it by its drive, such as "/c/a"`,
    );
  }
  return path.replaceAll("/", "\\");
}

function dependent(path: string, what: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `${JSON.stringify(path)} depends on ${what}: name it in full, such as "C:\\\\a"`,
  );
}

/**
 * The program and the arguments that end a process and its descendants (`/T`), by force (`/F`): Windows
 * has no signals, and a console program that is asked to close may refuse.
 *
 * To be run without a shell: Git Bash would take `/PID` for a path.
 *
 * It was not run on Windows.
 */
export function taskkill(pid: number): [command: string, args: string[]] {
  // 0 is the system's idle process.
  if (!Number.isSafeInteger(pid) || pid <= 0) {
    throw new InvalidArgumentError(`\`pid\` must be a process id, but is ${pid}`);
  }
  return ["taskkill", ["/PID", String(pid), "/T", "/F"]];
}
