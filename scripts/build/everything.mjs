// @ts-check
import { buildAgent } from "./agent.mjs";
import { buildCore } from "./core.mjs";
import { buildNpmPackage } from "./npm-package.mjs";
import { buildWasmTools } from "./wasm-tools.mjs";

/** Builds what has changed of the core, the npm package in dist/ and the agent. */
export async function buildEverything() {
  await buildWasmTools();
  await buildCore();
  await buildNpmPackage();
  await buildAgent();
}
