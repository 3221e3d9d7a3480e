// @ts-check
// What is tested: the background processes of one runtime, below a directory of their own.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";

import { background } from "sandpipe";

import { temporaryDirectory } from "../../support/target.mjs";

/** @import { Background, ReadOutputOptions, Runtime, SpawnOptions } from "sandpipe" */
/** @typedef {() => Promise<{ runtime: Runtime, close: () => unknown }>} Open */

/** Enough for anything here to happen, for what must not wait so long. */
export const LONG_MS = 30_000;

export class Subject {
  directory = temporaryDirectory();
  baseDir = join(this.directory, "base");
  /** @type {{ runtime: Runtime, processes: Background, close: () => unknown } | undefined} */
  #opened;
  #paths = 0;

  /** @param {Open} open */
  async open(open) {
    const { runtime, close } = await open();
    this.#opened = { runtime, close, processes: background(runtime, { baseDir: this.baseDir }) };
  }

  get runtime() {
    return this.#is.runtime;
  }

  get processes() {
    return this.#is.processes;
  }

  get #is() {
    assert.ok(this.#opened, "it is open while tests run");
    return this.#opened;
  }

  /** Leaves nothing behind. */
  async close() {
    const { processes, close } = this.#is;
    for (const { id } of await processes.list()) await processes.terminate(id, { graceMs: 0 });
    await close();
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
