// @ts-check
/** A project on a machine that has nothing but Node.js and a shell, with the packages from their tarballs. */

import { execFile } from "node:child_process";
import { chmod, cp, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { npmEnvironment, temporaryFolder } from "../support/installed-package.mjs";
import { pretending } from "../support/pretended-platform.mjs";

const execute = promisify(execFile);

const runEmulated = join(import.meta.dirname, "run-emulated.sh");

/** What a program made of it. @typedef {{ exitCode: number, stdout: string, stderr: string }} End */

export class BareMachine {
  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder;
    this.project = join(folder, "project");
    /** @type {NodeJS.ProcessEnv} */
    this.env = {
      PATH: join(folder, "bin"),
      HOME: join(folder, "home"),
      TMPDIR: join(folder, "tmp"),
    };
  }

  /** @param {Record<string, string>} tarballs by the names of their packages; no registry is asked */
  static async with(tarballs) {
    const machine = new BareMachine(await temporaryFolder());
    for (const name of ["bin", "home", "tmp", "project"]) await mkdir(join(machine.folder, name));
    await symlink(process.execPath, join(machine.folder, "bin", "node"));
    await symlink("/bin/sh", join(machine.folder, "bin", "sh"));
    const files = Object.entries(tarballs).map(([name, file]) => [name, `file:${file}`]);
    const { sandpipe, ...agents } = Object.fromEntries(files);
    const manifest = { private: true, dependencies: { sandpipe }, optionalDependencies: agents };
    await writeFile(join(machine.project, "package.json"), JSON.stringify(manifest));
    return machine;
  }

  /** `npm install`. @param {readonly string[]} args */
  async install(...args) {
    const env = npmEnvironment(this.folder);
    await execute("npm", ["install", "--offline", ...args], { cwd: this.project, env });
  }

  /** Has it run its agent for arm64 by qemu. */
  async emulate() {
    const wrapper = join(this.folder, "emulated-agent");
    const agent = join(this.project, "node_modules/@sandpipe/agent-linux-arm64/sandpipe-agent");
    await writeFile(wrapper, `#!/bin/sh\nexec '${runEmulated}' '${agent}' "$@"\n`);
    await chmod(wrapper, 0o755);
    this.env["SANDPIPE_AGENT"] = wrapper;
  }

  /** Has Node.js say that it runs on another platform. @param {string} platform */
  async pretend(platform) {
    Object.assign(this.env, await pretending(this.folder, platform));
  }

  /** Another machine, with all that this one has. */
  async copy() {
    const copy = new BareMachine(await temporaryFolder());
    await cp(this.folder, copy.folder, { recursive: true, verbatimSymlinks: true });
    return copy;
  }

  get program() {
    return join(this.project, "node_modules/.bin/sandpipe");
  }

  /** @param {readonly string[]} args */
  sandpipe(...args) {
    return this.#run(this.program, args);
  }

  /** Runs a module. @param {string} script */
  node(script) {
    return this.#run("node", ["--input-type=module", "--eval", script]);
  }

  /**
   * @param {string} program
   * @param {readonly string[]} args
   * @returns {Promise<End>}
   */
  async #run(program, args) {
    const options = { cwd: this.project, env: this.env };
    return new Promise((resolve, reject) => {
      execFile(program, args, options, (error, stdout, stderr) => {
        const exitCode = error === null ? 0 : error.code;
        if (typeof exitCode === "number") resolve({ exitCode, stdout, stderr });
        else reject(error);
      });
    });
  }

  async remove() {
    await rm(this.folder, { recursive: true, force: true });
  }
}
