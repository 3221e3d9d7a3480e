import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { AGENT_PLATFORMS, type AgentCandidates, agentPackage } from "./agent-program.js";

/** Looks for what could be run as the agent. */
export function findAgents(): AgentCandidates {
  return {
    platform: `${process.platform}-${process.arch}`,
    named: process.env["SANDPIPE_AGENT"],
    packaged: new Map(
      AGENT_PLATFORMS.flatMap((platform) => {
        const file = inPackage(platform);
        return file === undefined ? [] : [[platform, file]];
      }),
    ),
    built: inCheckout(),
  };
}

function inPackage(platform: string): string | undefined {
  try {
    const manifest = `${agentPackage(platform)}/package.json`;
    return join(dirname(createRequire(import.meta.url).resolve(manifest)), "sandpipe-agent");
  } catch {
    // It is not installed; or a bundler has put this file where it is not, or has left it no `import.meta.url`.
    return undefined;
  }
}

function inCheckout(): string | undefined {
  try {
    // Bundlers take `new URL("…", import.meta.url)` for a file that has to be there.
    const here = import.meta.url;
    const isCheckout = existsSync(new URL("../../crates/agent/Cargo.toml", here));
    const built = fileURLToPath(new URL("../../target/release/sandpipe-agent", here));
    return isCheckout && existsSync(built) ? built : undefined;
  } catch {
    // As above.
    return undefined;
  }
}
