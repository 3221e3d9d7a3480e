// @ts-check
import { buildAgent } from "./agent.mjs";
import { buildConsole } from "./console.mjs";
import { buildCore } from "./core.mjs";
import { buildNpmPackage } from "./npm-package.mjs";
import { buildWasmTools } from "./wasm-tools.mjs";

/** Builds what has changed of the core, the npm package in dist/, the console and the agent, which has it. */
export async function buildEverything() {
  await buildAllButAgent();
  await buildAgent();
}

/** The same without the agent, which is built for each platform then. */
export async function buildAllButAgent() {
  await buildWasmTools();
  await buildCore();
  await buildNpmPackage();
  await buildConsole();
}
