// Names of what is unpacked: each stays inside of the directory. Pure.
import { posix, win32 } from "node:path";

import { ProtocolError } from "../../core/errors.js";

/** Where the name of a file is not inside of the directory, or leads out of it. */
export class UnsafeNameError extends ProtocolError {
  constructor(problem: string, name: string) {
    super(problem, { excerpt: name });
  }
}

/** Devices, whatever follows behind a dot (Microsoft, "Naming Files, Paths, and Namespaces"). */
const DEVICES = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])\s*(?:\.|$)/i;

/** Separators, streams, and what no name may have there. */
const NOT_IN_NAMES = /[\\:*?"<>|\p{Cc}]/u;

/**
 * A name with slashes that is inside of the directory; empty for the directory itself.
 *
 * @throws {UnsafeNameError} It is not, or means something else than a file on Windows.
 */
export function safeName(name: string, platform: string = process.platform): string {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  if (name.startsWith("/") || parts.includes("..") || name.includes("\0")) throw isOutside(name);
  if (platform === "win32" && parts.some(isUnsafeOnWindows)) {
    throw new UnsafeNameError(
      `the name ${JSON.stringify(name)} is not one that a file can have on Windows`,
      name,
    );
  }
  const safe = parts.join("/");
  // Whatever the rules above have missed.
  const paths = platform === "win32" ? win32 : posix;
  const root = platform === "win32" ? "C:\\root" : "/root";
  const below = paths.relative(root, paths.resolve(root, safe));
  const isAbove = `${below}${paths.sep}`.startsWith(`..${paths.sep}`);
  if (isAbove || paths.isAbsolute(below)) throw isOutside(name);
  return safe;
}

function isUnsafeOnWindows(part: string): boolean {
  return NOT_IN_NAMES.test(part) || DEVICES.test(part) || /[. ]$/.test(part);
}

function isOutside(name: string): UnsafeNameError {
  return new UnsafeNameError(`the name ${JSON.stringify(name)} is outside of the directory`, name);
}
