// @ts-check
/** Runs the programs of jobs, several at a time, and ends one that hangs. */

import { spawn } from "node:child_process";
import { closeSync, fstatSync, mkdirSync, openSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { processReport, processTree } from "../../tests/support/process-report.mjs";
import { root, target } from "../project.mjs";

/** Where each job keeps what it says. */
export const results = join(target, "test-results");

/** A program that says nothing for so long hangs. */
export const SILENCE_MS = 120_000;

/** A compiler may say nothing for longer. */
export const COMPILE_SILENCE_MS = 600_000;

/** How often it is looked at. */
const LOOK_MS = 500;

/**
 * @typedef {object} End
 * @property {number} exitCode
 * @property {string} [hang] what its processes were doing when it had said nothing for too long
 */

/** @type {Set<import("node:child_process").ChildProcess>} */
const running = new Set();
/** @type {NodeJS.Signals | undefined} */
let stopping;

/** The path of a file for what a job says. @param {string} job @param {string} extension */
export function resultFile(job, extension) {
  const path = join(results, "jobs", `${job.replaceAll(/[^\w.-]+/g, "_")}.${extension}`);
  mkdirSync(dirname(path), { recursive: true });
  return path;
}

/**
 * Runs a program to its end. What it writes goes to files; as long as they grow, it is alive.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {object} options
 * @param {string} options.log the file for its stderr, and its stdout unless that has one of its own
 * @param {string} [options.stdout] the file for its stdout
 * @param {readonly string[]} [options.signs] files that it writes besides
 * @param {NodeJS.ProcessEnv} [options.env] instead of this process's
 * @param {string} [options.cwd] by default the project's root
 * @param {number} [options.silenceMs]
 * @returns {Promise<End>}
 */
export async function runProgram(command, args, options) {
  if (stopping !== undefined) return { exitCode: 128 + constants.signals[stopping] };
  const { log, stdout, signs = [], cwd = root, silenceMs = SILENCE_MS } = options;
  const files = [openSync(log, "w")];
  if (stdout !== undefined) files.push(openSync(stdout, "w"));
  for (const sign of signs) files.push(openSync(sign, "w"));
  const [stderr, output = stderr] = stdout === undefined ? files.slice(0, 1) : files;
  const env = { ...(options.env ?? process.env), CARGO_TARGET_DIR: target };
  // In a group of its own, so that Ctrl+C reaches this process alone, which passes it on. Otherwise
  // the program can end before this process gets the signal, and the next one begins.
  const child = spawn(command, args, {
    cwd,
    env,
    stdio: ["ignore", output, stderr],
    detached: true,
  });
  running.add(child);
  const watch = watchForSilence(child, files, silenceMs);
  try {
    const exitCode = await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => {
        resolve(code ?? 128 + constants.signals[signal ?? "SIGKILL"]);
      });
    });
    return { exitCode, ...watch.hang() };
  } finally {
    watch.end();
    running.delete(child);
    for (const file of files) closeSync(file);
    if (stopping !== undefined && running.size === 0) endBy(stopping);
  }
}

/**
 * @param {import("node:child_process").ChildProcess} child
 * @param {readonly number[]} files
 * @param {number} silenceMs
 */
function watchForSilence(child, files, silenceMs) {
  /** @type {string | undefined} */
  let report;
  let size = 0;
  let since = performance.now();
  const timer = setInterval(() => {
    const now = files.reduce((sum, file) => sum + fstatSync(file).size, 0);
    if (now !== size) {
      size = now;
      since = performance.now();
    } else if (performance.now() - since > silenceMs && child.pid !== undefined) {
      report ??= processReport({ root: child.pid });
      // Those that it started may hold on to what it has to clean up, so they end with it: after it, lest it takes
      // note of their ends and reports a test that did not end by itself.
      for (const pid of processTree(child.pid)) kill(pid);
    }
  }, LOOK_MS);
  return {
    hang: () => (report === undefined ? {} : { hang: report }),
    end: () => clearInterval(timer),
  };
}

/** @param {number} pid @param {NodeJS.Signals} [signal] */
function kill(pid, signal = "SIGKILL") {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It has ended meanwhile.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== "ESRCH") throw error;
  }
}

/** Whether this process was told to end: no other job begins. */
export function isStopping() {
  return stopping !== undefined;
}

/** Passes the signal that this process gets on to the programs that run, and ends by it after them. */
export function endWithPrograms() {
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
    process.on(signal, () => {
      stopping ??= signal;
      // Each leads a group of its own.
      for (const { pid } of running) if (pid !== undefined) kill(-pid, signal);
      if (running.size === 0) endBy(signal);
    });
  }
}

/** @param {NodeJS.Signals} signal */
function endBy(signal) {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
