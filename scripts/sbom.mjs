// @ts-check
/**
 * `npm run sbom -- DIR`: writes into DIR which crates the agent and the core are made of, in CycloneDX's form. What
 * the npm package has of other packages is in its `third-party-licenses.txt`.
 */

import { mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ask, mustRun } from "./child-process.mjs";
import { command } from "./command.mjs";
import { step } from "./progress.mjs";
import { target } from "./project.mjs";

const VERSION = "0.5.9";
const installed = join(target, "tools", "cyclonedx");

const PUBLISHED = ["sandpipe", "sandpipe-agent"];

await command(async () => {
  const [typed, ...others] = process.argv.slice(2);
  if (typed === undefined || others.length > 0) {
    console.error("Usage: npm run sbom -- DIR");
    return 2;
  }
  const folder = resolve(process.env["INIT_CWD"] ?? "", typed);
  const program = join(installed, "bin", "cargo-cyclonedx");
  if (ask(program, ["cyclonedx", "--version"])?.endsWith(VERSION) !== true) {
    const args = ["install", "cargo-cyclonedx", "--version", VERSION, "--locked"];
    await step("cargo-cyclonedx", () => mustRun("cargo", [...args, "--root", installed]));
  }
  const name = "bill-of-materials";
  await mustRun(program, ["cyclonedx", "--format", "json", "--override-filename", name]);

  mkdirSync(folder, { recursive: true });
  for (const member of workspaceMembers()) {
    // It writes one beside each manifest of the workspace.
    const written = join(dirname(member.manifest_path), `${name}.json`);
    if (PUBLISHED.includes(member.name)) {
      renameSync(written, join(folder, `${member.name}.cdx.json`));
    } else {
      rmSync(written);
    }
  }
  return 0;
});

/** @returns {{ name: string, manifest_path: string }[]} */
function workspaceMembers() {
  const metadata = ask("cargo", ["metadata", "--no-deps", "--format-version=1"]);
  if (metadata === undefined) throw new Error("cargo does not say which crates there are");
  return JSON.parse(metadata).packages;
}
