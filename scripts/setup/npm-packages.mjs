// @ts-check
import { statSync } from "node:fs";
import { join } from "node:path";
import { mustRun } from "../child-process.mjs";
import { root } from "../project.mjs";

/** Whether what package-lock.json names has been installed since that last changed. */
export function hasNpmPackages() {
  const wanted = modified("package-lock.json");
  // npm writes this file at the end of an installation.
  const installed = modified("node_modules/.package-lock.json");
  return installed !== undefined && wanted !== undefined && installed >= wanted;
}

export const prepareNpmPackages = () => mustRun("npm", ["ci"]);

/** @param {string} path */
function modified(path) {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs;
}
