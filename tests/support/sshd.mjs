// @ts-check
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";

import { sshRuntime } from "sandpipe/node";

import { freePort } from "./free-port.mjs";
import { until } from "./processes.mjs";

/** An SSH server of the tests' own on a loopback port, with its own keys, for this user. */
export class Sshd {
  /** @param {string} folder @param {number} port @param {import("node:child_process").ChildProcess} child */
  constructor(folder, port, child) {
    this.folder = folder;
    this.port = port;
    this.child = child;
  }

  /** What `sshRuntime` needs to get in. */
  get options() {
    return {
      host: "127.0.0.1",
      port: this.port,
      user: userInfo().username,
      identityFile: join(this.folder, "user_key"),
      knownHostsFile: join(this.folder, "known_hosts"),
      configFile: "none",
    };
  }

  /** Makes a pair of keys beside the server's and gives the path of the private one. @param {string} name */
  makeKey(name) {
    const file = join(this.folder, name);
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", file]);
    return file;
  }

  /** The processes that serve its connections. */
  connections() {
    return childrenOf(this.child.pid);
  }

  /**
   * Breaks its connections. An ordinary user's is served by two processes, and goes on without the first.
   *
   * @param {readonly number[]} [others] those that go on
   */
  breakConnections(others = []) {
    for (const pid of this.connections().filter((pid) => !others.includes(pid))) {
      for (const server of [pid, ...serversBelow(pid)]) {
        try {
          process.kill(server, "SIGKILL");
        } catch (error) {
          // It has ended meanwhile.
          if (/** @type {NodeJS.ErrnoException} */ (error).code !== "ESRCH") throw error;
        }
      }
    }
  }

  async stop() {
    this.breakConnections();
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill("SIGKILL");
      await once(this.child, "exit");
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/**
 * A runtime over a server of its own, as a suite opens it.
 *
 * @param {Parameters<typeof startSshd>} options
 */
export async function openSshRuntime(...options) {
  const server = await startSshd(...options);
  const runtime = sshRuntime(server.options);
  const close = async () => {
    await runtime.close();
    await server.stop();
  };
  return { runtime, close };
}

/**
 * Makes an `ssh` in a folder: the real one, with another value of a setting that the runtime passes.
 *
 * @param {string} folder for the beginning of `PATH`
 * @param {string} name
 * @param {string | number} value
 */
export function makeSsh(folder, name, value) {
  const real = execFileSync("sh", ["-c", "command -v ssh"], { encoding: "utf8" }).trim();
  const script = `#!/bin/sh
for word; do
  shift
  case $word in ${name}=*) word=${name}=${value} ;; esac
  set -- "$@" "$word"
done
exec '${real}' "$@"
`;
  writeFileSync(join(folder, "ssh"), script, { mode: 0o755 });
}

/** The line of a server's configuration that has scripts find these programs. @param {string} path */
export const withPath = (path) => `SetEnv "PATH=${path}"`;

/** @param {{ settings?: readonly string[] }} [options] `settings`: more lines of its configuration */
export async function startSshd({ settings = [] } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "sandpipe-sshd-"));
  const port = await freePort();
  const file = (/** @type {string} */ name) => join(folder, name);
  const server = new Sshd(folder, port, /** @type {any} */ (undefined));
  const hostKey = server.makeKey("host_key");
  server.makeKey("user_key");
  writeFileSync(file("authorized_keys"), readFileSync(file("user_key.pub")));
  const known = readFileSync(`${hostKey}.pub`, "utf8");
  writeFileSync(file("known_hosts"), `[127.0.0.1]:${port} ${known}`);
  writeFileSync(
    file("sshd_config"),
    [
      `ListenAddress 127.0.0.1:${port}`,
      `HostKey "${hostKey}"`,
      `AuthorizedKeysFile "${file("authorized_keys")}"`,
      "PidFile none",
      "StrictModes no",
      "UsePAM no",
      "PasswordAuthentication no",
      "KbdInteractiveAuthentication no",
      "PermitRootLogin yes",
      ...settings,
      "",
    ].join("\n"),
  );
  // Where it gives up its rights: the package makes it when the system's own server starts.
  if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true });
  const child = spawn("/usr/sbin/sshd", ["-D", "-e", "-f", file("sshd_config")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  server.child = child;
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (said += text));
  await until(() => said.includes("Server listening on") || child.exitCode !== null, {
    describe: () => `sshd listens; it says ${said}`,
  });
  if (child.exitCode !== null) throw new Error(`sshd did not start: ${said}`);
  return server;
}

/** The children of a process of sshd that are sshd, too, and no commands. @param {number} pid */
function serversBelow(pid) {
  try {
    const isServer = (/** @type {number} */ child) =>
      readFileSync(`/proc/${child}/comm`, "utf8").startsWith("sshd");
    return childrenOf(pid).filter(isServer);
  } catch {
    // One of them has ended meanwhile.
    return [];
  }
}

/** @param {number | undefined} pid */
function childrenOf(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return children.split(" ").filter(Boolean).map(Number);
}
