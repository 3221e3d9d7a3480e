// @ts-check
import { run } from "../child-process.mjs";
import { seconds } from "../progress.mjs";

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

/** Each is a test: it passes or fails. @type {[name: string, command: string, args: string[]][]} */
const CHECKS = [
  ["rustfmt", "cargo", ["fmt", "--all", "--check"]],
  ["clippy", "cargo", [...clippy, "--all-targets", ...denyWarnings]],
  ["clippy, core in wasm", "cargo", [...clippy, ...core, "--lib", ...wasm, ...denyWarnings]],
  [
    "clippy, tests in wasm",
    "cargo",
    [...clippy, "--package=sandpipe-wasm-tests", "--tests", ...wasm, ...denyWarnings],
  ],
  ["dependencies of the client", "sh", ["-c", clientDependencies]],
  ["eslint", "node_modules/.bin/eslint", ["--max-warnings=0", "."]],
  ["prettier", "node_modules/.bin/prettier", ["--check", "."]],
  ["types of the package", "node_modules/.bin/tsc", ["--project", "tests/types"]],
  ["types of the console", "node_modules/.bin/tsc", ["--project", "console"]],
  ["types of scripts and tests", "node_modules/.bin/tsc", ["--project", "."]],
  [
    "no circles of files",
    "node",
    ["scripts/circles.mjs", "src", "crates", "fuzz", "js", "console/src"],
  ],
];

export async function lint() {
  /** @type {import("../test.mjs").Counts & { failures: string[] }} */
  const counts = { passed: 0, failed: 0, skipped: 0, failures: [] };
  for (const [name, command, args] of CHECKS) {
    const start = performance.now();
    const { exitCode } = await run(command, args);
    const passed = exitCode === 0;
    counts[passed ? "passed" : "failed"] += 1;
    if (!passed) counts.failures.push(name);
    console.log(`${passed ? "✔" : "✖"} ${name} (${seconds(performance.now() - start)})`);
  }
  return counts;
}
