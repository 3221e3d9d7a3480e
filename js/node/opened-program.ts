// The program of an agent that this process starts more than once. npm puts it into the workspace, where the commands of the first agent
// can put another program in its place: it is executed as it was opened before the first command.
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";

/** First bytes of a program that needs no other to run it (elf(5)). */
const ELF = "\x7fELF";

/** The descriptors of programs, by their paths. They stay open as long as this process runs. */
const opened = new Map<string, number>();

/** How a program is executed. */
export interface Executable {
  /** Its path, as the child sees it. */
  path: string;
  /** The descriptors that the child has behind its standard streams. */
  descriptors: readonly number[];
}

/**
 * Returns how a program is executed as it was when this was first asked. A script is executed by its path: it may look for others
 * beside that. So is every program elsewhere than on Linux.
 */
export function executable(file: string): Executable {
  const descriptor = process.platform === "linux" ? openOnce(file) : undefined;
  if (descriptor === undefined) return { path: file, descriptors: [] };
  return { path: "/proc/self/fd/3", descriptors: [descriptor] };
}

/** Returns whether a program has been replaced since {@link executable} or this was first asked for it. */
export function isReplaced(file: string): boolean {
  const descriptor = openOnce(file);
  if (descriptor === undefined) return false;
  try {
    const [first, now] = [fstatSync(descriptor), statSync(file)];
    return first.dev !== now.dev || first.ino !== now.ino;
  } catch {
    return true;
  }
}

/** Opens a program the first time; undefined where it can't be opened, which its start will explain, or is a script. */
function openOnce(file: string): number | undefined {
  const known = opened.get(file);
  if (known !== undefined) return known;
  try {
    const descriptor = openSync(file, "r");
    const beginning = Buffer.alloc(ELF.length);
    readSync(descriptor, beginning);
    if (beginning.toString("latin1") === ELF) {
      opened.set(file, descriptor);
      return descriptor;
    }
    closeSync(descriptor);
  } catch {
    // It is none, or a directory.
  }
  return undefined;
}
