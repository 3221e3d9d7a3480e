// @ts-check
import { existsSync } from "node:fs";
import { AGENT_TARGETS } from "../build/agent-targets.mjs";
import { ask, mustRun } from "../child-process.mjs";
import { RequirementMissing } from "./requirement.mjs";

/** Installs what rust-toolchain.toml names, where rustup is told not to do that by itself. */
export async function prepareRustToolchain() {
  if (ask("rustup", ["--version"]) === undefined) {
    throw new RequirementMissing("rustup is needed: see https://rustup.rs.");
  }
  await mustRun("rustup", ["toolchain", "install"]);
}

/** Whether it is there, with all that rust-toolchain.toml names. */
export function hasRustToolchain() {
  const targets = ["wasm32-unknown-unknown", ...AGENT_TARGETS.map(({ rust }) => rust)];
  return (
    targets.every(hasStandardLibrary) &&
    ask("cargo", ["fmt", "--version"]) !== undefined &&
    ask("cargo", ["clippy", "--version"]) !== undefined
  );
}

/** @param {string} target */
function hasStandardLibrary(target) {
  const folder = ask("rustc", ["--print", "target-libdir", "--target", target]);
  return folder !== undefined && existsSync(folder);
}
