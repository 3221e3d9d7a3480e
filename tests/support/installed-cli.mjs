// @ts-check
/** The program `sandpipe` as its users get it, and what is left of what it ran. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { agent } from "../../scripts/project.mjs";
import { installInProject } from "./installed-package.mjs";
import { marked, marker, until } from "./processes.mjs";

/** @typedef {{ exitCode: number | null, signal: string | null, stdout: string, stderr: string }} End */

/** The program, installed from the package by npm. */
export async function installSandpipe() {
  const project = await installInProject();
  const program = join(project.path, "node_modules", ".bin", "sandpipe");
  return {
    ...project,
    program,

    /** Starts the program. @param {readonly string[]} args @param {StartOptions} [options] */
    start: (args, options) => Invocation.start(project.path, program, args, options),

    /** Starts a shell, for which the program is `sandpipe`. @param {string} script @param {StartOptions} [options] */
    startInShell(script, options) {
      const path = `${dirname(program)}:${process.env["PATH"]}`;
      const env = { ...options?.env, PATH: path };
      return Invocation.start(project.path, "sh", ["-c", script], { env });
    },

    /**
     * Starts it in a terminal of 100 columns and 30 rows. Its input is what is typed.
     *
     * stdout is what the screen shows: first the terminal's name, last the exit code and whether the
     * terminal's settings are what they were.
     *
     * @param {readonly string[]} args
     * @param {StartOptions} [options]
     */
    startInTerminal(args, options) {
      const quoted = [program, ...args].map((arg) => `'${arg.replaceAll("'", "'\\''")}'`);
      const script = `
        tty; stty rows 30 cols 100; settings=$(stty -g); trap : INT
        ${quoted.join(" ")}
        echo "exit code $?"; [ "$(stty -g)" = "$settings" ] && echo restored`;
      const env = { ...options?.env, SHELL: "/bin/sh" };
      // Of util-linux; every Debian has it.
      return Invocation.start(project.path, "script", ["-qc", script, "/dev/null"], { env });
    },

    /**
     * Runs a script with a shell in a terminal, as a person does; the program is `sandpipe`.
     *
     * @param {string} shell
     * @param {string} script
     * @param {StartOptions} [options]
     */
    async startScriptInTerminal(shell, script, options) {
      const file = join(project.path, `script-${randomUUID()}`);
      await writeFile(file, script);
      const path = `${dirname(program)}:${process.env["PATH"]}`;
      const env = { ...options?.env, PATH: path, SHELL: "/bin/sh" };
      const args = ["-qc", `exec ${shell} ${file}`, "/dev/null"];
      return Invocation.start(project.path, "script", args, { env });
    },

    /** Runs it to its end; its stdin is empty. @param {readonly string[]} args @param {StartOptions} [options] */
    async run(args, options) {
      const invocation = await Invocation.start(project.path, program, args, options);
      invocation.stdin.end();
      const end = await invocation.end;
      await invocation.leavesNothing();
      return end;
    },
  };
}

/** @typedef {{ env?: NodeJS.ProcessEnv }} StartOptions */

/** A program that was started. All that comes of it has a marker in its environment. */
export class Invocation {
  stdout = "";
  stderr = "";
  #mark;
  #temporary;

  /**
   * @param {import("node:child_process").ChildProcessWithoutNullStreams} child
   * @param {Record<string, string>} mark
   * @param {string} temporary
   */
  constructor(child, mark, temporary) {
    this.child = child;
    this.stdin = child.stdin;
    this.#mark = mark;
    this.#temporary = temporary;
    // The program need not read all of it.
    child.stdin.on("error", () => {});
    child.stdout.setEncoding("utf8").on("data", (text) => (this.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (this.stderr += text));
    /** @type {Promise<End>} */
    this.end = once(child, "close").then(([exitCode, signal]) => {
      return { exitCode, signal, stdout: this.stdout, stderr: this.stderr };
    });
  }

  /**
   * @param {string} folder
   * @param {string} program
   * @param {readonly string[]} args
   * @param {StartOptions} [options]
   */
  static async start(folder, program, args, { env = {} } = {}) {
    const mark = marker();
    const temporary = await mkdtemp(join(folder, "tmp-"));
    // An installed package has no workspace to find the agent in.
    const own = { SANDPIPE_AGENT: agent, TMPDIR: temporary, ...mark };
    const child = spawn(program, args, { cwd: folder, env: { ...process.env, ...own, ...env } });
    return new Invocation(child, mark, temporary);
  }

  /** Waits until stdout has it. @param {string | RegExp} what */
  async says(what) {
    await this.#until(() => this.stdout.match(what) !== null, `stdout has ${what}`);
  }

  /** The ids of the living processes that came of it, itself among them. */
  processes() {
    return marked(this.#mark).map(Number);
  }

  /** Waits until a program that it runs has ended. @param {string} name */
  async ends(name) {
    await until(async () => (await this.find(name)) === undefined);
  }

  /** The process that runs a program, by the path or name that it was called by. @param {string} name */
  async find(name) {
    for (const pid of this.processes()) {
      const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      // A script comes after its interpreter.
      if (command.split("\0").slice(0, 2).includes(name)) return pid;
    }
    return undefined;
  }

  /** Sends a signal to a program that it runs. @param {string} name @param {NodeJS.Signals} signal */
  async kill(name, signal) {
    const pid = await this.find(name);
    assert.ok(pid !== undefined, `${name} runs`);
    process.kill(pid, signal);
  }

  /** No process and no file is left of it. */
  async leavesNothing() {
    assert.deepEqual(this.processes(), [], "processes");
    assert.deepEqual(await readdir(this.#temporary), [], "files");
  }

  /** The same, once those that it could not wait for have ended. */
  async willLeaveNothing() {
    const gone = async () =>
      this.processes().length + (await readdir(this.#temporary)).length === 0;
    await until(gone);
  }

  /**
   * @param {() => boolean} condition
   * @param {string} name
   */
  async #until(condition, name) {
    const over = this.end.then((end) => {
      if (!condition()) assert.fail(`It ended before ${name}: ${JSON.stringify(end)}`);
    });
    await Promise.race([until(condition), over]);
  }
}
