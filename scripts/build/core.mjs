// @ts-check
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { mustRun } from "../child-process.mjs";
import { step } from "../progress.mjs";
import { bindings, root, target } from "../project.mjs";
import { wasmBindgen } from "./wasm-tools.mjs";
import { whenChanged } from "./when-changed.mjs";

const compiled = join(target, "wasm32-unknown-unknown", "wasm", "sandpipe.wasm");
const wasmOpt = join(root, "node_modules", "binaryen", "bin", "wasm-opt");

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
    mustRun("cargo", ["build", "--package", "sandpipe", "--lib", ...optimised]),
  );

  const inputs = [compiled, wasmBindgen, fileURLToPath(import.meta.url)];
  await whenChanged("bindings of the core", { inputs, outputs: [bindings] }, generateBindings);
}

async function generateBindings() {
  // Put in place only when it is whole.
  const fresh = join(target, "bindings");
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  await mustRun(wasmBindgen, [
    ...["--target", "web", "--omit-default-module-path"],
    ...["--out-dir", fresh, "--out-name", "sandpipe"],
    compiled,
  ]);
  const module = join(fresh, "sandpipe_bg.wasm");
  const features = WASM_FEATURES.map((feature) => `--enable-${feature}`);
  await mustRun(process.execPath, [wasmOpt, "-O3", ...features, module, "--output", module]);

  rmSync(bindings, { recursive: true, force: true });
  renameSync(fresh, bindings);
}
