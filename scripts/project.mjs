// @ts-check
/** Where things are in this checkout. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** What cargo builds, and what is made of it. */
export const target = join(root, "target");

/** The core as wasm-pack builds it: the module and its bindings, which js/ imports. */
export const bindings = join(root, "js", "core");

/** The npm package, ready for `npm pack`. */
export const dist = join(root, "dist");

/** The licenses, which are in every package. */
export const LICENSES = ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT"];

/**
 * The agent's npm package for a platform, ready for `npm pack`.
 *
 * @param {{ os: string, cpu: string }} platform
 */
export function agentPackage({ os, cpu }) {
  return join(target, "agent-packages", `${os}-${cpu}`);
}

/** The agent's npm package that this checkout uses itself: built fast, for this machine alone. */
export const checkoutAgentPackage = join(target, "checkout-agent");

/** The agent that this checkout runs, and that most tests start. */
export const agent = join(checkoutAgentPackage, "sandpipe-agent");

/** The agent for this machine as it is published: for benchmarks, and for tests of its size and memory. */
export const releaseAgent = join(
  agentPackage({ os: process.platform, cpu: process.arch }),
  "sandpipe-agent",
);

/** Where the tests of the packages have them packed. */
export const testedTarballs = join(target, "tarballs");
