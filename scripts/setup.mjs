// @ts-check
/** `npm run setup`: brings a fresh machine to where the project can be built. Where nothing is missing it is quick. */

import { command } from "./command.mjs";
import { prepareCLinker } from "./setup/debian-packages.mjs";
import { requireNodeVersion } from "./setup/node-version.mjs";
import { prepareNpmPackages } from "./setup/npm-packages.mjs";
import { linkOwnPackages } from "./setup/own-packages.mjs";
import { prepareRustToolchain } from "./setup/rust-toolchain.mjs";

await command(async () => {
  requireNodeVersion();
  await prepareCLinker();
  await prepareRustToolchain();
  await prepareNpmPackages();
  linkOwnPackages();
  return 0;
});
