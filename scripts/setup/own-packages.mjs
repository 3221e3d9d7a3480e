// @ts-check
import { lstatSync, mkdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { checkoutAgentPackage, dist, root } from "../project.mjs";

/** Has the checkout find the packages that it builds as if they were installed; installing others removes the links. */
export function linkOwnPackages() {
  link("sandpipe", dist);
  link(`@sandpipe/agent-${process.platform}-${process.arch}`, checkoutAgentPackage);
}

/**
 * @param {string} name
 * @param {string} folder
 */
function link(name, folder) {
  const path = join(root, "node_modules", name);
  const to = relative(dirname(path), folder);
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() && readlinkSync(path) === to)
    return;
  rmSync(path, { recursive: true, force: true });
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(to, path, "dir");
}
