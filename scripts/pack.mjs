// @ts-check
/**
 * `npm run pack -- DIR`: builds what is needed, and packs every package for every platform into DIR. The MCP
 * registry's server.json is put beside them.
 *
 * With `npm run --silent` it prints nothing, unless it fails: then it prints everything.
 */

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { AGENT_TARGETS } from "./build/agent-targets.mjs";
import { mustRun } from "./child-process.mjs";
import { command } from "./command.mjs";
import { agentPackage, dist } from "./project.mjs";
import { writeServerJson } from "./release/server-json.mjs";

await command(async () => {
  const [typed, ...others] = process.argv.slice(2);
  if (typed === undefined || others.length > 0) {
    console.error("Usage: npm run pack -- DIR");
    return 2;
  }
  if (process.env["npm_config_loglevel"] === "silent") return packQuietly();
  // From where it was run: npm runs scripts in the project's root.
  const folder = resolve(process.env["INIT_CWD"] ?? "", typed);
  await mustRun("npm", ["run", "--silent", "setup"]);
  await mustRun("npm", ["run", "--silent", "build:release-agents"]);
  mkdirSync(folder, { recursive: true });
  const packages = [dist, ...AGENT_TARGETS.map(agentPackage)];
  await mustRun("npm", ["pack", "--loglevel=error", "--pack-destination", folder, ...packages]);
  writeServerJson(folder);
  return 0;
});

/** The same in a process of its own, whose output is kept. */
function packQuietly() {
  const { status, error, stdout, stderr } = spawnSync(
    process.execPath,
    ["--", ...process.argv.slice(1)],
    {
      env: { ...process.env, npm_config_loglevel: "error" },
      maxBuffer: Infinity,
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  if (status === 0) return 0;
  if (error !== undefined) throw error;
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  return status ?? 1;
}
