import { createRequire } from "node:module";
import { dirname, join } from "node:path";

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
