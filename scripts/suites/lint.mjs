// @ts-check
/** Formatting, lints, types and structure. Each check is a job, and a test: it passes or fails. */

import { readFileSync } from "node:fs";
import { BUILD_DIRECTORY } from "./cargo.mjs";
import { COMPILE_SILENCE_MS, resultFile, runProgram } from "./program.mjs";

/** @import { Job } from "./job.mjs" */

const wasm = ["--target", "wasm32-unknown-unknown"];
const core = ["sandpipe", "sandpipe-client", "sandpipe-protocol", "sandpipe-text"].map(
  (name) => `--package=${name}`,
);
const denyWarnings = ["--", "--deny", "warnings"];
const clippy = ["clippy", "--no-deps", "--keep-going"];

/** The client's crate stays free of JavaScript and of I/O: its host has both. */
const clientDependencies = `
tree=$(cargo tree --package=sandpipe-client --edges=normal --prefix=none --target=wasm32-unknown-unknown) &&
  ! echo "$tree" | grep -E '^(js-sys|wasm-bindgen|web-sys|gloo|tokio)'`;

const RUST = [
  ...["Cargo.lock", "Cargo.toml", "clippy.toml", "rustfmt.toml", ".cargo", "rust-toolchain.toml"],
  ...["build.rs", "src", "crates", "fuzz", "tests/wasm", "tests/support"],
];
/** What eslint and tsc read; the package has types of its own. */
const TYPESCRIPT = [
  ...["js", "dist", "console", "tests", "scripts", "bench", "examples"],
  ...[
    "eslint.config.js",
    "tsconfig.json",
    "tsconfig.base.json",
    "package.json",
    "package-lock.json",
  ],
];

/** @type {[name: string, inputs: string[], command: string, args: string[]][]} */
const CHECKS = [
  ["rustfmt", RUST, "cargo", ["fmt", "--all", "--check"]],
  ["clippy", RUST, "cargo", [...clippy, "--all-targets", ...denyWarnings]],
  ["clippy, core in wasm", RUST, "cargo", [...clippy, ...core, "--lib", ...wasm, ...denyWarnings]],
  [
    "clippy, tests in wasm",
    RUST,
    "cargo",
    [...clippy, "--package=sandpipe-wasm-tests", "--tests", ...wasm, ...denyWarnings],
  ],
  ["dependencies of the client", RUST, "sh", ["-c", clientDependencies]],
  ["eslint", TYPESCRIPT, "node_modules/.bin/eslint", ["--max-warnings=0", "."]],
  ["prettier", ["."], "node_modules/.bin/prettier", ["--check", "."]],
  ["types of the package", TYPESCRIPT, "node_modules/.bin/tsc", ["--project", "tests/types"]],
  ["types of the console", TYPESCRIPT, "node_modules/.bin/tsc", ["--project", "console"]],
  ["types of scripts and tests", TYPESCRIPT, "node_modules/.bin/tsc", ["--project", "."]],
  [
    "no circles of files",
    [...RUST, ...TYPESCRIPT],
    "node",
    ["--", "scripts/circles.mjs", "src", "crates", "fuzz", "js", "console/src"],
  ],
];

/** @returns {Job[]} */
export function lintJobs() {
  return CHECKS.map(([name, inputs, command, args]) => ({
    suite: "lint",
    name,
    lane: "processor",
    ...(name === "clippy" ? { apart: BUILD_DIRECTORY } : {}),
    inputs: [...inputs, "scripts/suites/lint.mjs"],
    run: async () => {
      const start = performance.now();
      const log = resultFile(name, "log");
      const { exitCode } = await runProgram(command, args, { log, silenceMs: COMPILE_SILENCE_MS });
      const ms = performance.now() - start;
      if (exitCode === 0) return { tests: [{ name, outcome: "passed", ms }] };
      const reason = readFileSync(log, "utf8");
      return { tests: [{ name, outcome: "failed", ms, reason }] };
    },
  }));
}
