// The lookup of the programs that this package starts by their name in `PATH`. npm and npx begin that with directories of the
// workspace, where a command can put a program of the same name. The agent has the same rule for what it starts
// (crates/agent/src/find_program.rs), and knows its policy, too.
import { accessSync, constants, existsSync, realpathSync, statSync } from "node:fs";
import { basename, delimiter, dirname, isAbsolute, join, parse, relative, sep } from "node:path";

import { changeableByOthers } from "./owned-path.js";
import { environmentOfCommands } from "./process.js";

/** A program that is left out, and why. */
interface LeftOut {
  file: string;
  reason: string;
}

/** What the directories of `PATH` have of a name. */
export interface FoundProgram {
  /** The first program that neither commands nor other users can have put there; undefined where there is none. */
  file: string | undefined;
  /** Those before it that they can. */
  leftOut: readonly LeftOut[];
}

/** The workspaces of confined agents that this process has started, without symbolic links. */
const workspaces = new Set<string>();

/** Leaves out the programs of a workspace from now on: confined commands may write there. */
export function leaveOutWorkspace(directory: string): void {
  const real = realDirectory(directory);
  if (real !== undefined) workspaces.add(real);
}

/** Looks for a program in the directories of `PATH`. */
export function lookUp(name: string): FoundProgram {
  // The name may have its extension already.
  const files = process.platform === "win32" ? [`${name}.exe`, name] : [name];
  const leftOut: LeftOut[] = [];
  for (const directory of entriesOfPath()) {
    const paths = files.map((file) => (directory === "" ? file : join(directory, file)));
    const path = paths.find(isProgram);
    if (path === undefined) continue;
    const reason = whyLeftOut(path);
    if (reason === undefined) return { file: path, leftOut };
    leftOut.push({ file: path, reason });
  }
  return { file: undefined, leftOut };
}

/**
 * Finds a program in the directories of `PATH`.
 *
 * @throws {Error} There is none. Its `code` is `ENOENT`, its message names the programs that were left out.
 */
export function findProgram(name: string): string {
  const { file, leftOut } = lookUp(name);
  if (file !== undefined) return file;
  throw Object.assign(new Error(explainNoProgram(name, leftOut)), { code: "ENOENT" });
}

/**
 * Returns the file of a program that is given by its path, or by a name that is looked for in `PATH`.
 *
 * @throws {Error} There is no program of that name, as with {@link findProgram}.
 */
export function programFile(program: string): string {
  return basename(program) === program ? findProgram(program) : program;
}

/** Says that there is no program of a name that may be started. */
export function explainNoProgram(name: string, leftOut: readonly LeftOut[]): string {
  if (leftOut.length === 0) return `there is no ${name} in PATH`;
  const programs = leftOut.map(({ file, reason }) => `${JSON.stringify(file)} (${reason})`);
  return `every ${name} in PATH is left out: ${programs.join("; ")}`;
}

/**
 * The environment of a program that this package starts, and that runs no commands of the caller's: what that starts by name itself,
 * as `podman` and `xdg-open` do, is found in the same directories.
 */
export function environmentOfPrograms(): NodeJS.ProcessEnv {
  const safe = entriesOfPath().filter((directory) => whyLeftOut(directory) === undefined);
  const env = environmentOfCommands();
  const name = Object.keys(env).find((key) => key.toUpperCase() === "PATH") ?? "PATH";
  return { ...env, [name]: safe.join(delimiter) };
}

function entriesOfPath(): string[] {
  return (process.env["PATH"] ?? "").split(delimiter);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Says why a program, or what is in a directory, is not started; undefined where it may be. */
function whyLeftOut(path: string): string | undefined {
  // An empty entry is the current directory (POSIX, 8.3).
  if (!isAbsolute(path)) return "the entry of PATH is not an absolute path";
  let real;
  try {
    real = realpathSync(path);
  } catch {
    return "it is not there";
  }
  const working = workingDirectory();
  for (const place of [path, real]) {
    if (place.split(sep).includes("node_modules")) return "it is in a directory node_modules";
    if (working !== undefined && isIn(place, working)) {
      return `it is in ${working}, the working directory`;
    }
    const workspace = [...workspaces].find((directory) => isIn(place, directory));
    if (workspace !== undefined) return `it is in ${workspace}, a workspace of commands`;
    const environment = virtualEnvironmentOf(place);
    if (environment !== undefined) return `it is in ${environment}, a Python virtual environment`;
  }
  return changeableByOthers(path);
}

/** The Python virtual environment (PEP 405) of a program or of its directory; undefined where there is none. */
function virtualEnvironmentOf(path: string): string | undefined {
  return [dirname(path), dirname(dirname(path))].find((directory) =>
    existsSync(join(directory, "pyvenv.cfg")),
  );
}

/** The working directory, without symbolic links; undefined for the root of all, where services and containers start. */
export function workingDirectory(): string | undefined {
  return realDirectory(".");
}

/** A directory without symbolic links; undefined for the root of all, and for one that is not there. */
function realDirectory(directory: string): string | undefined {
  try {
    const real = realpathSync(directory);
    return real === parse(real).root ? undefined : real;
  } catch {
    return undefined;
  }
}

/** Returns whether a path is a directory's, or of something in it. */
export function isIn(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
