// @ts-check
/** The native tests of the crates: cargo builds the test programs, and each is a job. */

import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { root } from "../project.mjs";
import { seedEnvironment } from "./seeds.mjs";
import { endOf } from "./lines.mjs";
import { COMPILE_SILENCE_MS, resultFile, runProgram } from "./program.mjs";
import { readRustEvents, readRustText } from "./rust.mjs";

/** @import { Job, JobResult } from "./job.mjs" */

/** A simulation, or a fuzz target, says nothing until it has ended. */
const SILENCE_MS = 240_000;

/**
 * Test programs whose tests mostly wait, for processes and sockets, and how many of their tests run at a time.
 *
 * @type {Readonly<Record<string, number>>}
 */
const WAITING = { "crates/agent/tests/agent": 4, "crates/policy/tests/walls": 4 };

/** Cargo lets one build at a time into this directory. */
export const BUILD_DIRECTORY = "target/debug";

/** What tests of the crates read beside their own crate. */
const READ = ["tests/support", "docs", "scripts/suites/cargo.mjs"];

/**
 * @param {readonly string[]} texts only the tests whose names have one of them; none: all tests
 * @returns {Job[]}
 */
export function cargoJobs(texts) {
  const suite = "cargo";
  const inputs = ["Cargo.lock", "Cargo.toml", "crates", "fuzz", "src", "build.rs", ...READ];
  const name = "cargo test --no-run";
  const run = () => buildTests(texts);
  const apart = BUILD_DIRECTORY;
  return [{ ...{ suite, name, lane: "processor", apart, isStep: true }, inputs, run }];
}

/**
 * @param {readonly string[]} texts
 * @returns {Promise<JobResult>}
 */
async function buildTests(texts) {
  const name = "cargo test --no-run";
  const [log, messages] = [resultFile(name, "log"), resultFile(name, "messages")];
  const args = ["test", "--locked", "--no-run", "--message-format=json"];
  const options = { log, stdout: messages, silenceMs: COMPILE_SILENCE_MS };
  const { exitCode } = await runProgram("cargo", args, options);
  const built = readFileSync(messages, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
  if (exitCode !== 0) {
    const errors = built.flatMap(({ message }) => message?.rendered ?? []);
    return { tests: [], failure: `The tests don't compile.\n${errors.join("\n")}\n${endOf(log)}` };
  }
  const programs = built.filter(({ executable, profile }) => profile?.test && executable);
  const isStarted = (/** @type {any} */ { executable, profile }) => !profile?.test && executable;
  const started = built.filter(isStarted);
  const documented = texts.length === 0 ? [documentation()] : [];
  return {
    tests: [],
    next: [...programs.map((built) => programJob(built, started, texts)), ...documented],
  };
}

/**
 * @param {{ executable: string, manifest_path: string, target: { name: string, kind: string[], src_path: string } }} built
 * @param {readonly { executable: string, manifest_path: string }[]} started programs of crates, which their tests start
 * @param {readonly string[]} texts
 * @returns {Job}
 */
function programJob({ executable, manifest_path, target }, started, texts) {
  const folder = dirname(manifest_path);
  const own = started.filter((program) => program.manifest_path === manifest_path);
  const programs = [executable, ...own.map((program) => program.executable)];
  const source = relative(root, target.src_path).replace(/(\/main)?\.rs$/, "");
  const threads = WAITING[source];
  return {
    suite: "cargo",
    name: source,
    lane: threads === undefined ? "processor" : "waiting",
    // What a program does is in its library, and so are its tests.
    mayBeEmpty: texts.length > 0 || target.kind.includes("bin"),
    inputs: [
      ...programs.map((program) => relative(root, program)),
      ...["tests", "proptest-regressions"].map((name) => join(relative(root, folder), name)),
      ...READ,
    ],
    run: () => runProgramOfTests(source, executable, folder, { texts, threads }),
  };
}

/**
 * @param {string} name
 * @param {string} executable
 * @param {string} folder of its crate
 * @param {{ texts: readonly string[], threads: number | undefined }} options
 * @returns {Promise<JobResult>}
 */
async function runProgramOfTests(name, executable, folder, { texts, threads }) {
  const [log, events] = [resultFile(name, "log"), resultFile(name, "events")];
  const args = ["-Zunstable-options", "--format=json", "--report-time", "--show-output"];
  if (threads !== undefined) args.push(`--test-threads=${threads}`);
  args.push(...texts);
  // As cargo runs it. Times and JSON are not stable yet, so a stable toolchain has to be told.
  const own = { CARGO_MANIFEST_DIR: folder, RUSTC_BOOTSTRAP: "1", ...seedEnvironment() };
  const env = { ...process.env, ...own };
  const options = { log, stdout: events, env, cwd: folder, silenceMs: SILENCE_MS };
  const { exitCode, hang } = await runProgram(executable, args, options);
  const { tests, unended, isComplete } = readRustEvents(readFileSync(events, "utf8"));
  if (hang !== undefined) {
    return { tests, failure: `It hung in: ${unended.join(", ")}\n${hang}\n${endOf(log)}` };
  }
  if (isComplete) return { tests };
  const names = unended.join(", ");
  return { tests, failure: `It ended with ${exitCode} in: ${names}\n${endOf(log)}` };
}

/** The examples in the documentation. @returns {Job} */
function documentation() {
  const name = "cargo test --doc";
  return {
    suite: "cargo",
    name,
    lane: "processor",
    apart: BUILD_DIRECTORY,
    inputs: ["Cargo.lock", "Cargo.toml", "crates", "fuzz", "src", "build.rs"],
    run: async () => {
      const [log, stdout] = [resultFile(name, "log"), resultFile(name, "stdout")];
      const args = ["test", "--locked", "--doc", "--no-fail-fast"];
      const options = { log, stdout, silenceMs: COMPILE_SILENCE_MS };
      const { exitCode } = await runProgram("cargo", args, options);
      const tests = readRustText(readFileSync(stdout, "utf8"));
      const isExplained = exitCode === 0 || tests.some(({ outcome }) => outcome === "failed");
      return isExplained ? { tests } : { tests, failure: endOf(log) };
    },
  };
}
