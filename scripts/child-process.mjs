// @ts-check
/** Runs other programs in the project's root, and ends when they are told to. */

import { spawn, spawnSync } from "node:child_process";
import { constants } from "node:os";
import { root, target } from "./project.mjs";

/** A program without which the work can't go on has failed. It has said itself what was wrong. */
export class ProgramFailed extends Error {
  /**
   * @param {string} command
   * @param {readonly string[]} args
   * @param {number} exitCode
   */
  constructor(command, args, exitCode) {
    super(`\`${[command, ...args].join(" ")}\` ended with ${exitCode}`);
    this.name = "ProgramFailed";
    this.exitCode = exitCode;
  }
}

/**
 * @typedef {object} RunOptions
 * @property {NodeJS.ProcessEnv} [env] instead of this process's environment
 * @property {boolean} [keepOutput] return what it writes to stdout, which is shown all the same
 */

/**
 * Runs a program to its end, its output shown as it comes.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<{ exitCode: number, output: string }>} whatever the exit code is
 */
export async function run(command, args, options = {}) {
  const child = spawn(command, args, {
    cwd: root,
    env: programEnvironment(options.env ?? process.env),
    stdio: ["inherit", options.keepOutput ? "pipe" : "inherit", "inherit"],
  });
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text) => {
    output += text;
    process.stdout.write(text);
  });

  // Ctrl+C reaches the child too; a signal to this process alone is passed on. Either way the child
  // ends in its own time, and this process after it, by the same signal, whatever was still to be done.
  /** @type {NodeJS.Signals | undefined} */
  let stopping;
  const wait = () => {
    stopping ??= "SIGINT";
  };
  const passOn = (/** @type {NodeJS.Signals} */ signal) => {
    stopping ??= signal;
    child.kill(signal);
  };
  process.on("SIGINT", wait).on("SIGTERM", passOn).on("SIGHUP", passOn);
  try {
    const exitCode = await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => {
        resolve(code ?? 128 + constants.signals[signal ?? "SIGKILL"]);
      });
    });
    if (stopping !== undefined) endBy(stopping);
    return { exitCode, output };
  } finally {
    process.off("SIGINT", wait).off("SIGTERM", passOn).off("SIGHUP", passOn);
  }
}

/**
 * Ends this process by a signal, as shells expect of a program that was interrupted: a loop around it ends, too.
 *
 * @param {NodeJS.Signals} signal
 */
function endBy(signal) {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // A container's first process is not ended by its own signals.
  process.exit(128 + constants.signals[signal]);
}

/**
 * Runs a program that has to succeed.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 */
export async function mustRun(command, args, options = {}) {
  const { exitCode } = await run(command, args, options);
  if (exitCode !== 0) throw new ProgramFailed(command, args, exitCode);
}

/**
 * Asks a program something, quietly.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @returns {string | undefined} what it wrote to stdout; undefined if it is not there or fails
 */
export function ask(command, args) {
  const { status, stdout } = spawnSync(command, args, {
    cwd: root,
    env: programEnvironment(process.env),
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  return status === 0 ? stdout.trim() : undefined;
}

/**
 * What is built is looked for in target/, wherever else this machine's cargo may build.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {NodeJS.ProcessEnv}
 */
function programEnvironment(env) {
  return { ...env, CARGO_TARGET_DIR: target };
}
