// @ts-check
// What is tested: the background processes of one runtime, below a directory of their own.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";

import { background } from "sandpipe";
import { localRuntime } from "sandpipe/node";

import { temporaryDirectory } from "../../support/target.mjs";
import { inTime } from "../in-time.mjs";

/** @import { Background, BackgroundOptions, Runtime } from "sandpipe" */
/** @import { ReadOutputOptions, SpawnOptions } from "sandpipe" */
/** @typedef {() => Promise<{ runtime: Runtime, close: () => unknown }>} Open */

/**
 * A wait that is longer than the deadline of a call: the call returns in time if what it waits for
 * happens, and fails if nothing but its time ends it.
 */
export const LONG_MS = 600_000;

export class Subject {
  directory = temporaryDirectory();
  baseDir = join(this.directory, "base");
  /** @type {{ runtime: Runtime, processes: Background, close: () => unknown } | undefined} */
  #opened;
  #paths = 0;

  /** @param {Open} open */
  async open(open) {
    const opened = await open();
    const runtime = inTime(opened.runtime);
    const processes = inTime(background(runtime, { baseDir: this.baseDir }));
    this.#opened = { runtime, processes, close: opened.close };
  }

  get runtime() {
    return this.#is.runtime;
  }

  get processes() {
    return this.#is.processes;
  }

  /**
   * Makes another client: of other processes, or over a runtime that a test has changed.
   *
   * @param {BackgroundOptions & { runtime?: Runtime }} options
   */
  background({ runtime = this.runtime, baseDir = this.baseDir, ...options }) {
    return inTime(background(runtime, { baseDir, ...options }));
  }

  get #is() {
    assert.ok(this.#opened, "it is open while tests run");
    return this.#opened;
  }

  /** Leaves nothing behind. The target is this machine, where calls are fast. */
  async close() {
    const processes = this.background({ runtime: localRuntime() });
    for (const { id } of await processes.list()) await processes.terminate(id, { graceMs: 0 });
    await this.#is.close();
    rmSync(this.directory, { recursive: true });
  }

  /** A path that nobody else has. */
  path() {
    return join(this.directory, `file ${(this.#paths += 1)}`);
  }

  /**
   * What is read.
   *
   * @param {string} id
   * @param {ReadOutputOptions} [options]
   */
  async text(id, options) {
    return (await this.processes.readOutput(id, options)).output;
  }

  /**
   * The script's ending.
   *
   * @param {string} script
   * @param {SpawnOptions} [options]
   */
  async ending(script, options) {
    const { id } = await this.processes.spawn(script, options);
    const { status, exitCode } = await this.processes.wait(id);
    return { id, status, exitCode };
  }
}
