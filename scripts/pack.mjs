// @ts-check
/**
 * `npm run pack -- DIR`: builds what is needed, and packs every package for every platform into DIR.
 *
 * With `npm run --silent` it prints nothing, unless it fails: then it prints everything.
 */

import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { buildAllButAgent } from "./build/everything.mjs";
import { command } from "./command.mjs";
import { packAll } from "./pack/tarballs.mjs";
import { setUpMachine } from "./setup/machine.mjs";
import { prepareMuslTargets } from "./setup/musl-targets.mjs";

await command(async () => {
  const [folder, ...others] = process.argv.slice(2);
  if (folder === undefined || others.length > 0) {
    console.error("Usage: npm run pack -- DIR");
    return 2;
  }
  if (process.env["npm_config_loglevel"] === "silent") return packQuietly();
  await setUpMachine();
  await prepareMuslTargets();
  await buildAllButAgent();
  // From where it was run: npm runs scripts in the project's root.
  await packAll(resolve(process.env["INIT_CWD"] ?? "", folder));
  return 0;
});

/** The same in a process of its own, whose output is kept. */
function packQuietly() {
  const { status, error, stdout, stderr } = spawnSync(process.execPath, process.argv.slice(1), {
    env: { ...process.env, npm_config_loglevel: "error" },
    maxBuffer: Infinity,
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (status === 0) return 0;
  if (error !== undefined) throw error;
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  return status ?? 1;
}
