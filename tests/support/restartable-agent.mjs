// @ts-check
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { agent as program } from "../../scripts/project.mjs";
import { firstLine } from "./first-line.mjs";
import { freePort } from "./free-port.mjs";

/** An agent that can be started again: at the same address, with the same tokens and memory. */
export class RestartableAgent {
  token = randomBytes(16).toString("hex");
  readOnlyToken = randomBytes(16).toString("hex");
  url = "";
  /** @type {string | undefined} */
  #listen;
  /** @type {import("node:child_process").ChildProcess | undefined} */
  #child;

  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder;
  }

  /** @param {readonly string[]} [flags] further ones */
  async start(flags = []) {
    // While it is stopped nobody else gets this port.
    this.#listen ??= `127.0.0.1:${await freePort()}`;
    const child = spawn(
      process.env["SANDPIPE_AGENT"] ?? program,
      [
        ...["--listen", this.#listen, "--workspace", this.folder],
        ...["--state-dir", join(this.folder, "state"), "--until-stdin-closes"],
        ...flags,
      ],
      {
        env: {
          ...process.env,
          // Where background processes have their directories.
          TMPDIR: this.folder,
          SANDPIPE_ADMIN_TOKEN: this.token,
          SANDPIPE_READONLY_TOKEN: this.readOnlyToken,
        },
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    this.#child = child;
    this.url = JSON.parse(await firstLine(child)).url;
  }

  get pid() {
    return this.#child?.pid;
  }

  stop() {
    return this.#end("SIGTERM");
  }

  /** It dies at once, as of the system's lack of memory. */
  kill() {
    return this.#end("SIGKILL");
  }

  /** It hangs: its connections stay, and nothing answers. */
  pause() {
    this.#child?.kill("SIGSTOP");
  }

  /** It goes on after that. */
  goOn() {
    this.#child?.kill("SIGCONT");
  }

  /** @param {NodeJS.Signals} signal */
  async #end(signal) {
    const child = this.#child;
    assert(child !== undefined);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "close");
    child.kill(signal);
    await ended;
  }
}
