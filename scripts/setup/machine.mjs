// @ts-check
/** Brings a fresh machine to where the project can be built. Where nothing is missing it is quick. */

import { prepareCLinker } from "./c-linker.mjs";
import { requireNodeVersion } from "./node-version.mjs";
import { prepareNpmPackages } from "./npm-packages.mjs";
import { prepareRustToolchain } from "./rust-toolchain.mjs";

export async function setUpMachine() {
  requireNodeVersion();
  await prepareCLinker();
  await prepareRustToolchain();
  await prepareNpmPackages();
}
