// @ts-check
import { join } from "node:path";
import { mustRun } from "../child-process.mjs";
import { step } from "../progress.mjs";
import { target } from "../project.mjs";

const folder = join(target, "tools");

export const wasmBindgen = join(folder, "wasm-bindgen");
export const wasmBindgenTestRunner = join(folder, "wasm-bindgen-test-runner");

/**
 * Builds wasm-bindgen's tools from this workspace's lock file: they have to be of the same version
 * as the crate that the core links.
 */
export async function buildWasmTools() {
  const args = ["build", "--package", "wasm-tools", "--profile", "tools", "--bins"];
  // Two crates deep in the tools draw this warning at every build.
  const quiet = ["--config", "future-incompat-report.frequency = 'never'"];
  await step("wasm-bindgen's tools", () => mustRun("cargo", [...args, ...quiet]));
}
