// @ts-check
/**
 * `setup.mjs [--build]`: brings a fresh machine to where the project can be built, and builds it. Where nothing is
 * missing it is quick, and says nothing.
 */

import { existsSync } from "node:fs";
import { mustRun } from "./child-process.mjs";
import { command } from "./command.mjs";
import { runSteps } from "./progress.mjs";
import { agent } from "./project.mjs";
import {
  hasCLinker,
  mayInstallBubblewrap,
  prepareBubblewrap,
  prepareCLinker,
} from "./setup/debian-packages.mjs";
import { requireNodeVersion } from "./setup/node-version.mjs";
import { hasNpmPackages, prepareNpmPackages } from "./setup/npm-packages.mjs";
import { linkOwnPackages } from "./setup/own-packages.mjs";
import { hasRustToolchain, prepareRustToolchain } from "./setup/rust-toolchain.mjs";

const isToBuild = process.argv.includes("--build");

await command(async () => {
  requireNodeVersion();
  const steps = [];
  if (!hasCLinker()) steps.push({ name: "C linker", work: prepareCLinker });
  if (!hasRustToolchain()) steps.push({ name: "Rust toolchain", work: prepareRustToolchain });
  if (!hasNpmPackages()) steps.push({ name: "npm packages", work: prepareNpmPackages });
  // What is built here confines commands.
  if (isToBuild && mayInstallBubblewrap()) {
    steps.push({ name: "bubblewrap", work: prepareBubblewrap });
  }
  const isFirstBuild = isToBuild && !existsSync(agent);
  if (isFirstBuild) steps.push({ name: "build", work: build });
  await runSteps(steps);
  linkOwnPackages();
  if (isToBuild && !isFirstBuild) await build();
  return 0;
});

/** What has not changed is not built again. */
async function build() {
  linkOwnPackages();
  await mustRun("npm", ["run", "--silent", "build:this-platform"]);
}
