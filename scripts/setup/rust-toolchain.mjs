// @ts-check
import { existsSync } from "node:fs";
import { AGENT_TARGETS } from "../build/agent-targets.mjs";
import { ask, mustRun } from "../child-process.mjs";
import { step } from "../progress.mjs";
import { RequirementMissing } from "./requirement.mjs";

/** Installs what rust-toolchain.toml names, where rustup is told not to do that by itself. */
export async function prepareRustToolchain() {
  if (isReady()) return;
  if (ask("rustup", ["--version"]) === undefined) {
    throw new RequirementMissing("rustup is needed: see https://rustup.rs.");
  }
  await step("Rust toolchain", () => mustRun("rustup", ["toolchain", "install"]));
}

function isReady() {
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
