// @ts-check
/** The package as its users get it: packed, and installed into a project of theirs. */

import { execFile } from "node:child_process";
import { cp, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { dist } from "../../scripts/project.mjs";

const execute = promisify(execFile);

/**
 * The environment of an npm that has its cache in a folder: this user's may be nowhere, or another's.
 *
 * @param {string} folder
 */
export function npmEnvironment(folder) {
  return { ...process.env, npm_config_cache: join(folder, "npm-cache") };
}

/** @typedef {{ filename: string, files: { path: string, size: number }[] }} Tarball */

/**
 * @param {string} folder where it is put
 * @returns {Promise<Tarball>}
 */
export async function pack(folder) {
  const { stdout } = await execute("npm", ["pack", "--json", "--pack-destination", folder], {
    ...{ cwd: dist, env: npmEnvironment(folder) },
  });
  /** @type {unknown} */
  const answer = JSON.parse(stdout);
  // npm 10 answers with a list, npm 11.x with an object that has the packages' names.
  const [tarball] = /** @type {Tarball[]} */ (Object.values(/** @type {object} */ (answer)));
  if (tarball === undefined) throw new Error("npm pack made no tarball");
  return { ...tarball, filename: join(folder, tarball.filename) };
}

/**
 * A new project with the package installed.
 *
 * @param {URL} [source] files that are copied into it
 */
export async function installInProject(source) {
  const project = await temporaryFolder();
  if (source !== undefined) await cp(source, project, { recursive: true });
  await writeFile(join(project, "package.json"), JSON.stringify({ private: true }));
  const { filename } = await pack(project);
  // It depends on nothing but the agent's packages: tests/packaging/ has them, the others run the agent of the build.
  await execute("npm", ["install", "--offline", "--omit=optional", filename], {
    ...{ cwd: project, env: npmEnvironment(project) },
  });
  return {
    path: project,
    remove: () => rm(project, { recursive: true, force: true }),
  };
}

export async function temporaryFolder() {
  return realpath(await mkdtemp(join(tmpdir(), "sandpipe-test-")));
}
