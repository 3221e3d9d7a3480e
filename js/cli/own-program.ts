// How this program is started again, by others than npm and npx.
import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

import { isIn, workingDirectory } from "../node/find-program.js";

/**
 * Names this program by absolute paths, where commands that work in these directories can't change it. `npx sandpipe` would run whatever
 * the workspace has by that name.
 *
 * @throws {Error} They can.
 */
export function ownProgramOutsideOf(workspaces: readonly string[]): [string, ...string[]] {
  const node = process.execPath;
  const file = fileURLToPath(new URL("sandpipe.js", import.meta.url));
  const project = projectOf(file);
  for (const workspace of workspaces.map(realPath)) {
    // A workspace may be one of several in the project.
    const isOfProject = project !== undefined && isIn(workspace, project);
    const changeable = isOfProject ? file : [node, file].find((path) => isIn(path, workspace));
    if (changeable === undefined) continue;
    throw new Error(
      `${changeable} is in a project whose commands can change it, and would run unconfined: install sandpipe elsewhere ` +
        "(`npm install --global sandpipe`), and run `sandpipe mcp --print-config` of that.",
    );
  }
  return [node, "--", file];
}

/** The directory that commands work in when they are started here; undefined where no policy lets them write: above the home. */
export function workspaceHere(): string | undefined {
  const directory = workingDirectory();
  if (directory === undefined || isIn(realPath(homedir()), directory)) return undefined;
  return directory;
}

/** The directory of the project that a file is installed in. */
function projectOf(file: string): string | undefined {
  const end = file.indexOf(`${sep}node_modules${sep}`);
  if (end === -1) return undefined;
  const directory = file.slice(0, end);
  return existsSync(join(directory, "package.json")) ? directory : undefined;
}

/** A path without symbolic links; as it is where nothing is there. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
