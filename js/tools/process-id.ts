import { unknownProcess } from "./failure.js";

/**
 * Checks an id that a model gave.
 *
 * @throws {NotFoundError} No process can have it: ids are names of directories.
 */
export function checkProcessId(id: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/.test(id)) throw unknownProcess(id);
}
