// @ts-check
/**
 * `npm run sbom -- DIR`: writes into DIR what the packages are made of, in CycloneDX's form: the crates of the agent
 * and of the core, and the npm packages that the build takes.
 */

import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ask, mustRun } from "./child-process.mjs";
import { command } from "./command.mjs";
import { step } from "./progress.mjs";
import { root, target } from "./project.mjs";
import { setUpMachine } from "./setup/machine.mjs";

const VERSION = "0.5.9";
const installed = join(target, "tools", "cyclonedx");

/** The crates that are published as something else, by the folder of their manifest. */
const CRATES = { "sandpipe-agent": "crates/agent", sandpipe: "." };

await command(async () => {
  const [typed, ...others] = process.argv.slice(2);
  if (typed === undefined || others.length > 0) {
    console.error("Usage: npm run sbom -- DIR");
    return 2;
  }
  const folder = resolve(process.env["INIT_CWD"] ?? "", typed);
  await setUpMachine();
  const program = join(installed, "bin", "cargo-cyclonedx");
  if (ask(program, ["cyclonedx", "--version"])?.endsWith(VERSION) !== true) {
    const args = ["install", "cargo-cyclonedx", "--version", VERSION, "--locked"];
    await step("cargo-cyclonedx", () => mustRun("cargo", [...args, "--root", installed]));
  }
  mkdirSync(folder, { recursive: true });
  for (const [name, manifest] of Object.entries(CRATES)) {
    const path = join(root, manifest, "Cargo.toml");
    const form = ["--format", "json", "--override-filename", `${name}.cdx`];
    await mustRun(program, ["cyclonedx", "--manifest-path", path, ...form]);
    renameSync(join(root, manifest, `${name}.cdx.json`), join(folder, `${name}.cdx.json`));
  }
  const sbom = execFileSync("npm", ["sbom", "--sbom-format", "cyclonedx"], {
    cwd: root,
    encoding: "utf8",
  });
  writeFileSync(join(folder, "npm.cdx.json"), sbom);
  return 0;
});
