// @ts-check
import { mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { mustRun } from "../child-process.mjs";
import { step } from "../progress.mjs";
import { bindings, root, target } from "../project.mjs";
import { wasmBindgen } from "./wasm-tools.mjs";
import { whenChanged } from "./when-changed.mjs";
import { withoutLocalPaths } from "./without-local-paths.mjs";

const compiled = join(target, "wasm32-unknown-unknown", "wasm", "sandpipe.wasm");
const wasmOpt = join(root, "node_modules", "binaryen", "bin", "wasm-opt");

/**
 * What the module and its bindings may take with gzip, in bytes: a page waits for it. To be lowered when
 * the core gets smaller; `npm run size` tells what takes the space.
 */
const LIMIT = 195_000;

/** What rustc emits for wasm32 by default; wasm-opt takes such a module only when told. */
const WASM_FEATURES = [
  "bulk-memory",
  "multivalue",
  "mutable-globals",
  "nontrapping-float-to-int",
  "reference-types",
  "sign-ext",
  "simd",
];

/** Compiles the core to WebAssembly, optimised, with its bindings: js/core. */
export async function buildCore() {
  const optimised = ["--target", "wasm32-unknown-unknown", "--profile", "wasm"];
  await step("core", () =>
    mustRun("cargo", [
      ...["build", "--package", "sandpipe", "--lib", ...optimised],
      ...withoutLocalPaths("wasm32-unknown-unknown"),
    ]),
  );

  const inputs = [compiled, wasmBindgen, fileURLToPath(import.meta.url)];
  await whenChanged("bindings of the core", { inputs, outputs: [bindings] }, generateBindings);
}

async function generateBindings() {
  // Put in place only when it is whole.
  const fresh = join(target, "bindings");
  const module = await bind(fresh);
  await mustRun(process.execPath, optimiser(module, ["--output", module]));
  checkSize([module, join(fresh, "sandpipe.js")]);

  rmSync(bindings, { recursive: true, force: true });
  renameSync(fresh, bindings);
}

/**
 * Gives the compiled core its bindings, in a folder of their own. Resolves the module's path; its
 * functions have names.
 *
 * @param {string} folder
 */
export async function bind(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await mustRun(wasmBindgen, [
    ...["--target", "web", "--omit-default-module-path"],
    ...["--out-dir", folder, "--out-name", "sandpipe"],
    compiled,
  ]);
  return join(folder, "sandpipe_bg.wasm");
}

/**
 * What Node is to be given to optimise a module.
 *
 * @param {string} module
 * @param {string[]} args more for wasm-opt
 */
export function optimiser(module, args) {
  const features = WASM_FEATURES.map((feature) => `--enable-${feature}`);
  return [wasmOpt, "-O3", "--converge", ...features, module, ...args];
}

/** @param {string[]} files what a page downloads */
function checkSize(files) {
  const sizes = files.map((file) => gzipSync(readFileSync(file), { level: 9 }).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total <= LIMIT) return;
  throw new Error(
    `The core takes ${total} bytes with gzip, and may take ${LIMIT}: \`npm run size\` tells where they are.`,
  );
}
