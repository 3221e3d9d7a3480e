// @ts-check
import { statSync } from "node:fs";
import { join } from "node:path";
import { mustRun } from "../child-process.mjs";
import { step } from "../progress.mjs";
import { root } from "../project.mjs";

/** Installs what package-lock.json names, unless that has been done since it last changed. */
export async function prepareNpmPackages() {
  const wanted = modified("package-lock.json");
  // npm writes this file at the end of an installation.
  const installed = modified("node_modules/.package-lock.json");
  if (installed === undefined || wanted === undefined || installed < wanted) {
    await step("npm packages", () => mustRun("npm", ["ci"]));
  }
}

/** @param {string} path */
function modified(path) {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs;
}
