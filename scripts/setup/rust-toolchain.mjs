// @ts-check
import { existsSync } from "node:fs";
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
  const wasm = ask("rustc", ["--print", "target-libdir", "--target", "wasm32-unknown-unknown"]);
  return (
    wasm !== undefined &&
    existsSync(wasm) &&
    ask("cargo", ["fmt", "--version"]) !== undefined &&
    ask("cargo", ["clippy", "--version"]) !== undefined
  );
}
