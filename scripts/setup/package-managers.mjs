// @ts-check
/** The package managers whose stores the tests look at. */

import { ask, mustRun } from "../child-process.mjs";
import { step } from "../progress.mjs";
import { prepareHttpLibraries, preparePip } from "./debian-packages.mjs";

const OF_NPM = { pnpm: "pnpm@10.34.9", bun: "bun@1.4.5" };
const OF_PYPI = { uv: "uv==0.13.9", poetry: "poetry==2.5.1" };

/**
 * Installs for the whole machine those that are missing, as root of a machine of continuous
 * integration. Elsewhere the tests that need them are skipped.
 */
export async function preparePackageManagers() {
  await prepareHttpLibraries();
  if (process.env["CI"] !== "true" || process.getuid?.() !== 0) return;
  const [ofNpm, ofPypi] = [missingOf(OF_NPM), missingOf(OF_PYPI)];
  if (ofPypi.length > 0) await preparePip();
  /** @type {Promise<void>[]} */
  const installing = [];
  if (ofNpm.length > 0) {
    // A script of Bun's puts the program from its own package in place; .npmrc forbids scripts.
    const args = ["install", "--global", "--ignore-scripts=false", ...ofNpm];
    installing.push(step(ofNpm.join(" "), () => mustRun("npm", args)));
  }
  if (ofPypi.length > 0) {
    // Debian keeps pip from installing for the machine; this one is for tests alone.
    const env = { ...process.env, PIP_BREAK_SYSTEM_PACKAGES: "1", PIP_ROOT_USER_ACTION: "ignore" };
    const args = ["install", "--quiet", "--disable-pip-version-check", ...ofPypi];
    installing.push(step(ofPypi.join(" "), () => mustRun("pip3", args, { env })));
  }
  await Promise.all(installing);
}

/** @param {Record<string, string>} packages by the name of their program */
function missingOf(packages) {
  return Object.entries(packages).flatMap(([program, name]) =>
    ask(program, ["--version"]) === undefined ? [name] : [],
  );
}
