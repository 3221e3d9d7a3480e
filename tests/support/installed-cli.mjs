// @ts-check
/** The program `sandpipe` as its users get it, and what is left of what it ran. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
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
    /** What the program has Node.js run. */
    script: join(project.path, "node_modules", "sandpipe", "cli", "sandpipe.js"),

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
      const args = ["-qc", `exec ${shell} '${file}'`, "/dev/null"];
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

/**
 * @typedef {object} StartOptions
 * @property {NodeJS.ProcessEnv} [env] added to this process's
 * @property {string} [cwd] default: the project
 * @property {boolean} [stopsClock] the time limits of the program that are 10 s and more are over when
 * the test says so: `timePasses()`
 */

/** Stops the clock of a program. */
const CLOCK = new URL("program-clock.mjs", import.meta.url);

/** A program that was started. All that comes of it has a marker in its environment. */
export class Invocation {
  stdout = "";
  stderr = "";
  #mark;
  #temporary;
  #clock;
  /** How often its clock was told to go on. */
  #signals = 0;

  /**
   * @param {import("node:child_process").ChildProcessWithoutNullStreams} child
   * @param {object} own
   * @param {Record<string, string>} own.mark
   * @param {string} own.temporary
   * @param {string} own.clock what its clock writes to
   */
  constructor(child, { mark, temporary, clock }) {
    this.child = child;
    this.stdin = child.stdin;
    this.#mark = mark;
    this.#temporary = temporary;
    this.#clock = clock;
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
  static async start(folder, program, args, { env = {}, cwd = folder, stopsClock = false } = {}) {
    const mark = marker();
    const temporary = await mkdtemp(join(folder, "tmp-"));
    const clock = join(folder, `clock-${randomUUID()}`);
    const own = {
      // An installed package has no workspace to find the agent in.
      ...{ SANDPIPE_AGENT: agent, TMPDIR: temporary, ...mark },
      ...(stopsClock ? { NODE_OPTIONS: `--import=${CLOCK}`, TEST_CLOCK: clock } : {}),
    };
    const child = spawn(program, args, { cwd, env: { ...process.env, ...own, ...env } });
    return new Invocation(child, { mark, temporary, clock });
  }

  /** Has the next of its time limits be over, once it does nothing but wait for that. */
  async timePasses() {
    await this.#tick(() => false);
  }

  /** Has one time limit after the other be over, up to its end. */
  async endInTime() {
    let isOver = false;
    void this.end.then(() => (isOver = true));
    while (!isOver) await this.#tick(() => isOver);
    return this.end;
  }

  /** @param {() => boolean} isOver */
  async #tick(isOver) {
    const count = (this.#signals += 1);
    this.child.kill("SIGUSR2");
    const passed = async () => readFile(this.#clock, "utf8").catch(() => "");
    await until(async () => (await passed()) === `${count}.` || isOver());
  }

  /** Waits until stdout has it. @param {string | RegExp} what */
  async says(what) {
    const has = () => this.stdout.match(what) !== null;
    /** @type {End | undefined} */
    let end;
    void this.end.then((its) => (end = its));
    const describe = () =>
      `stdout has ${what}; it is ${JSON.stringify(this.stdout)}, stderr ${JSON.stringify(this.stderr)}`;
    await until(() => has() || end !== undefined, { describe });
    if (!has()) assert.fail(`It ended before stdout has ${what}: ${JSON.stringify(end)}`);
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
      // A script comes after its interpreter, that of the program `sandpipe` after `--`, too.
      const words = command.split("\0").slice(0, 3);
      if (words.some((word) => word === name || normalize(word) === name)) return pid;
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
}
