// Stopping a process with all that it started, on Windows. A pure function, tested as such: it was
// not run on Windows.
import { InvalidArgumentError } from "../../errors.js";

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
