// @ts-check
// What is tested: the tools over one runtime whose target is this machine.
import assert from "node:assert/strict";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import * as sandpipe from "sandpipe";
import { localRuntime } from "sandpipe/node";
import { tools as makeTools } from "sandpipe/tools";

import { inTime } from "../background/in-time.mjs";
import { temporaryDirectory } from "../support/target.mjs";

/** @import { BackgroundOptions, Runtime } from "sandpipe" */
/** @import { ToolCallOptions, Tools, ToolsOptions } from "sandpipe/tools" */
/** @typedef {() => Promise<{ runtime: Runtime, close: () => unknown }>} Open */
/** @typedef {Tools[number]["name"]} Name */

/** The most characters of output in a result here. */
export const BUDGET = 400;

/**
 * Makes tools whose calls have a deadline.
 *
 * @param {Runtime} runtime
 * @param {ToolsOptions} [options]
 */
export function tools(runtime, options) {
  const made = makeTools(runtime, options).map((tool) => inTime(/** @type {object} */ (tool)));
  return /** @type {Tools} */ (made);
}

/**
 * Makes a client of background processes whose calls have a deadline.
 *
 * @param {Runtime} runtime
 * @param {BackgroundOptions} options
 */
export const background = (runtime, options) => inTime(sandpipe.background(runtime, options));

export class Subject {
  directory = temporaryDirectory();
  baseDir = join(this.directory, "base");
  /** @type {{ runtime: Runtime, tools: Tools, close: () => unknown } | undefined} */
  #opened;
  #paths = 0;

  /** @param {Open} open */
  async open(open) {
    const { runtime, close } = await open();
    const { baseDir } = this;
    this.#opened = { runtime, close, tools: tools(runtime, { baseDir, maxOutputChars: BUDGET }) };
  }

  get #is() {
    assert.ok(this.#opened, "it is open while tests run");
    return this.#opened;
  }

  get runtime() {
    return this.#is.runtime;
  }

  /** The processes below the tools' directory. */
  get processes() {
    return background(this.runtime, { baseDir: this.baseDir, namespace: "tools" });
  }

  /** Leaves nothing behind. The target is this machine, where calls are fast. */
  async close() {
    const processes = background(localRuntime(), { baseDir: this.baseDir, namespace: "tools" });
    for (const { id } of await processes.list()) await processes.terminate(id, { graceMs: 0 });
    await this.#is.close();
    rmSync(this.directory, { recursive: true });
  }

  /** A path that nobody else has. */
  path() {
    return join(this.directory, `file ${(this.#paths += 1)}`);
  }

  /** The directories of processes. */
  kept() {
    const directory = join(this.baseDir, "tools");
    return existsSync(directory) ? readdirSync(directory) : [];
  }

  /**
   * Calls a tool.
   *
   * @param {Name} name
   * @param {unknown} input
   * @param {ToolCallOptions} [options]
   */
  call(name, input, options) {
    const tool = this.#is.tools.find((one) => one.name === name);
    assert.ok(tool);
    return tool.execute(input, options);
  }

  /** Runs a script. @param {string} script @param {ToolCallOptions} [options] */
  bash(script, options) {
    return this.call("bash", { script }, options);
  }

  /** Starts a script, and gives the id of its process. @param {string} script */
  async start(script) {
    return field(await this.call("bash", { script, run_in_background: true }), "process_id");
  }

  /** @param {string} id @param {object} [input] */
  output(id, input) {
    return this.call("bash_background_output", { process_id: id, ...input });
  }
}

/** What a result says in a line of its own. @param {string} result @param {string} name */
export function field(result, name) {
  const value = new RegExp(`^${name}: (.*)$`, "m").exec(result)?.[1];
  assert.ok(value !== undefined, `it has ${name}: ${result}`);
  return value;
}
