// @ts-check
/**
 * Builds the core into js/core/: the WebAssembly module, its bindings and the classes of errors. `--module` compiles the
 * module alone.
 *
 * These are the steps of `wasm-pack build`, and tests/packaging/wasm-pack.test.mjs compares the results. wasm-pack would
 * take longer to compile than the core: it needs 113 crates, most of them for downloads that are never made here.
 */

import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mustRun } from "../child-process.mjs";
import { command } from "../command.mjs";
import { bindings, root, target } from "../project.mjs";
import { withoutLocalPaths } from "./local-paths.mjs";

const RUST_TARGET = "wasm32-unknown-unknown";
const tools = join(target, "checkout");

await command(async () => {
  if (process.argv.includes("--module")) {
    const profile = ["--locked", "--profile", "wasm", "--target", RUST_TARGET];
    const flags = withoutLocalPaths(RUST_TARGET);
    await mustRun("cargo", ["build", ...profile, "--package", "sandpipe", ...flags]);
    return 0;
  }
  rmSync(bindings, { recursive: true, force: true });
  mkdirSync(bindings, { recursive: true });
  const compiled = join(target, RUST_TARGET, "wasm", "sandpipe.wasm");
  await mustRun(join(tools, "core-bindings"), [compiled, bindings]);
  const module = join(bindings, "sandpipe_bg.wasm");
  await mustRun("wasm-opt", [...wasmOptArguments(), module, "--output", module]);
  writeFileSync(join(bindings, "errors.ts"), execFileSync(join(tools, "error-classes")));
  return 0;
});

/** Cargo.toml has them, in wasm-pack's form. */
function wasmOptArguments() {
  const args = ["metadata", "--locked", "--no-deps", "--format-version", "1"];
  const metadata = execFileSync("cargo", args, { cwd: root, encoding: "utf8" });
  const packages = /** @type {{ name: string, metadata: any }[]} */ (JSON.parse(metadata).packages);
  const own = packages.find(({ name }) => name === "sandpipe");
  return /** @type {string[]} */ (own?.metadata["wasm-pack"].profile.custom["wasm-opt"]);
}
