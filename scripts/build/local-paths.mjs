// @ts-check
import { homedir } from "node:os";
import { join } from "node:path";

/**
 * Arguments for cargo that keep the paths of this machine out of what it builds for a target: panics name their sources.
 *
 * @param {string} rustTarget
 * @param {readonly string[]} more flags for rustc
 */
export function withoutLocalPaths(rustTarget, more = []) {
  const sources = join(process.env["CARGO_HOME"] ?? join(homedir(), ".cargo"), "registry", "src");
  const rustflags = JSON.stringify([`--remap-path-prefix=${sources}=crates`, ...more]);
  return ["--config", `target.${rustTarget}.rustflags=${rustflags}`];
}
