// @ts-check
import { homedir } from "node:os";
import { join } from "node:path";

/** Where cargo has the sources of crates on this machine. */
const crates = join(process.env["CARGO_HOME"] ?? join(homedir(), ".cargo"), "registry", "src");

/**
 * What cargo is to be given so that what it builds for a target has no path of this machine in it: panics name their
 * sources.
 *
 * @param {string} rustTarget
 */
export function withoutLocalPaths(rustTarget) {
  const rustflags = JSON.stringify([`--remap-path-prefix=${crates}=crates`]);
  return ["--config", `target.${rustTarget}.rustflags=${rustflags}`];
}
