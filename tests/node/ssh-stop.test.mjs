// @ts-check
// How scripts over SSH are stopped, where that is not simple, and what is left of them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { InterruptedError } from "sandpipe";
import { sshRuntime } from "sandpipe/node";

// No part of the package's interface.
import { stopScript } from "../../dist/node/ssh/remote-script.js";
import { groupMembers, programsWithout, shellWith } from "../support/target.mjs";
import { marked, processesThat, statOf, until } from "../support/processes.mjs";
import { makeSsh, startSshd, withPath } from "../support/sshd.mjs";
import { failure, mark } from "../support/script.mjs";

const isRoot = process.getuid?.() === 0;

/** Where a process was killed that had a connection. @type {Awaited<ReturnType<typeof startSshd>>} */
let abandoned;
/** Where that has its sockets. @type {string} */
let folder;
/** @type {string} */
let bin;

/** How long a connection is kept that nobody uses, in seconds: in the place of a minute. */
const PERSIST = 5;

before(async () => {
  abandoned = await startSshd();
  // Short: that of a socket has little room.
  folder = mkdtempSync(join(tmpdir(), "sandpipe-t-"));
  bin = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
  makeSsh(bin, "ControlPersist", PERSIST);
  const source = `import { sshRuntime } from ${JSON.stringify(import.meta.resolve("sandpipe/node"))};
    await sshRuntime(${JSON.stringify(abandoned.options)}).run("true");
    process.kill(process.pid, "SIGKILL");`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    env: { ...process.env, TMPDIR: folder, PATH: `${bin}:${process.env["PATH"]}` },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [, signal] = await once(child, "exit");
  assert.equal(signal, "SIGKILL");
});
after(async () => {
  await abandoned.stop();
  for (const path of [folder, bin]) rmSync(path, { recursive: true });
});

describe("a machine over SSH whose shell leads no process group", () => {
  /** @param {string} shell @param {(ssh: import("sandpipe/node").SshRuntime) => Promise<void>} test */
  async function behindWrapper(shell, test) {
    const sshd = await startSshd({ settings: [`ForceCommand ${shell} -c 'exec sh'; true`] });
    const ssh = sshRuntime(sshd.options);
    assert.deepEqual(await ssh.run("echo a; exit 3"), { exitCode: 3, output: "a\n" });
    await test(ssh);
    await ssh.close();
    await sshd.stop();
  }

  /** @param {import("sandpipe/node").SshRuntime} ssh */
  async function aborted(ssh) {
    const { line, env } = mark();
    const stop = new AbortController();
    const running = failure(ssh.run(`${line}sleep 600 & sleep 600`, stop));
    await until(() => marked(env).length >= 2);
    stop.abort();
    const error = await running;
    assert.ok(error instanceof InterruptedError);
    return { error, left: marked(env) };
  }

  it("stops a script with all that it started", async () => {
    await behindWrapper("sh", async (ssh) => {
      const { error, left } = await aborted(ssh);
      assert.deepEqual([error.message, error.forced, left], ["interrupted", false, []]);
    });
  });

  it("stops a script that shares the group of the shell that waits for it", async (t) => {
    const directory = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
    // Neither setsid nor job control: dash has none without a terminal.
    shellWith(directory, programsWithout(["setsid", "bash"]), "dash");
    rmSync(join(directory, "sh"));
    symlinkSync("/bin/dash", join(directory, "sh"));
    const sshd = await startSshd({ settings: [withPath(directory)] });
    const ssh = sshRuntime(sshd.options);
    t.after(async () => {
      await ssh.close();
      await sshd.stop();
      rmSync(directory, { recursive: true });
    });
    for (const [script, exitCode] of /** @type {[string, number][]} */ ([
      ["kill -KILL $$", 137],
      ["kill 0; sleep 5; exit 9", 143],
      ["trap 'exit 3' INT; kill -INT 0; exit 9", 3],
    ])) {
      assert.deepEqual(await ssh.run(script), { exitCode, output: "" }, script);
    }
    const { error, left } = await aborted(ssh);
    assert.deepEqual([error.message, error.forced, left], ["interrupted", false, []]);
  });

  it("says that a script may still run where no other group can be made", async () => {
    const directory = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
    const shell = shellWith(directory, programsWithout(["setsid"]), "sh");
    await behindWrapper(`'${shell}'`, async (ssh) => {
      const { error, left } = await aborted(ssh);
      assert.match(error.message, /it may still run/);
      assert.ok(left.length > 0);
      for (const pid of left) process.kill(Number(pid), "SIGKILL");
    });
    rmSync(directory, { recursive: true });
  });
});

it("Ctrl+C at a terminal reaches the caller alone", async (t) => {
  const sshd = await startSshd();
  t.after(() => sshd.stop());
  const { line, env } = mark();
  const file = join(sshd.folder, "interrupted");
  const script = `${line}sh -c 'until [ -e "$1" ]; do sleep 0.02; done' sh '${file}'; echo on`;
  const source = `import { sshRuntime } from ${JSON.stringify(import.meta.resolve("sandpipe/node"))};
    import { writeFileSync } from "node:fs";
    process.on("SIGINT", () => writeFileSync(${JSON.stringify(file)}, ""));
    const ssh = sshRuntime(${JSON.stringify(sshd.options)});
    console.log((await ssh.run(${JSON.stringify(script)})).output);
    await ssh.close();`;
  // It leads a process group, as a terminal's foreground job does.
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (said += text));
  await until(() => marked(env).length > 0);
  process.kill(-(/** @type {number} */ (child.pid)), "SIGINT");
  await once(child, "close");
  assert.equal(said, "on\n\n");
});

describe("the script that stops others", () => {
  const shells = [["dash"], ["bash"], ["busybox", "sh"]];
  for (const [shell = "", ...args] of shells) {
    // Longer than a test: these times are over only where a test waits for that.
    const long = 60_000;

    /**
     * @param {number} group
     * @param {{ graceMs: number, killMs: number }} times
     * @param {import("node:child_process").SpawnOptions} [options]
     */
    const stopping = async (group, { graceMs, killMs }, options) => {
      const script = stopScript(group, graceMs, killMs);
      const child = spawn(shell, [...args, "-c", script], {
        ...options,
        stdio: ["ignore", "pipe", "inherit"],
      });
      let said = "";
      child.stdout?.setEncoding("utf8").on("data", (text) => (said += text));
      await once(child, "close");
      return said;
    };

    /** @param {string} script @param {(group: number) => Promise<void>} test */
    const withGroup = async (script, test) => {
      const child = spawn("sh", ["-c", script], {
        detached: true,
        stdio: ["ignore", "pipe", "inherit"],
      });
      await once(child.stdout, "data");
      const ended = once(child, "exit");
      try {
        await test(child.pid ?? 0);
      } finally {
        child.kill("SIGKILL");
        await ended;
      }
    };

    it(`waits for a group to go, with ${shell}`, async () => {
      const script = "trap 'sleep 0.2; exit' TERM; echo up; while :; do sleep 0.01; done";
      await withGroup(script, async (group) => {
        assert.equal(await stopping(group, { graceMs: long, killMs: long }), "");
        assert.deepEqual(groupMembers(group), []);
      });
    });

    it(`says that it took SIGKILL, with ${shell}`, async () => {
      const script = "trap '' TERM; echo up; while :; do sleep 0.01; done";
      await withGroup(script, async (group) => {
        assert.equal(await stopping(group, { graceMs: 300, killMs: long }), "forced\n");
      });
    });

    it(
      `takes no other user's for gone, with ${shell}`,
      { skip: !isRoot && "only for root" },
      async () => {
        await withGroup("echo up; exec sleep 600", async (group) => {
          const times = { graceMs: 300, killMs: 300 };
          const nobody = { uid: 65_534, gid: 65_534 };
          assert.equal(await stopping(group, times, nobody), "forced\nleft\n");
        });
      },
    );
  }
});

describe("a machine that does not answer", () => {
  /** @type {import("node:net").Server} */
  let server;
  /** @type {Set<import("node:net").Socket>} */
  const connections = new Set();
  /** @type {import("sandpipe/node").SshRuntimeOptions} */
  let options;

  /** @type {string} */
  let client;
  const path = process.env["PATH"];

  before(async () => {
    // It never gives up connecting by itself.
    client = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
    makeSsh(client, "ConnectTimeout", 36_000);
    process.env["PATH"] = `${client}:${path}`;
    server = createServer((socket) => {
      connections.add(socket.on("error", () => undefined).resume());
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    options = { host: "127.0.0.1", port, configFile: "none" };
  });
  after(() => {
    process.env["PATH"] = path;
    for (const socket of connections) socket.destroy();
    server.close();
    rmSync(client, { recursive: true });
  });

  const timeout = 120_000;

  it("is not waited for when a script is aborted", { timeout }, async () => {
    const ssh = sshRuntime(options);
    const [one, other] = [new AbortController(), new AbortController()];
    const reason = new Error("enough");
    const first = failure(ssh.run("true", one));
    const second = failure(ssh.run("true", other));
    await until(() => connections.size === 1);
    const [socket] = connections;
    one.abort(reason);
    const error = await first;
    assert.ok(error instanceof InterruptedError);
    assert.equal(error.cause, reason);
    assert.equal(socket?.readableEnded, false, "the other script still waits");
    const ended = once(/** @type {import("node:net").Socket} */ (socket), "close");
    other.abort();
    assert.ok((await second) instanceof InterruptedError);
    await ended;
    await ssh.close();
  });

  it("is not waited for when the runtime is closed", { timeout }, async () => {
    const ssh = sshRuntime(options);
    const known = connections.size;
    const running = failure(ssh.run("true"));
    await until(() => connections.size > known);
    await ssh.close();
    assert.ok((await running) instanceof InterruptedError);
  });
});

describe("a machine over SSH whose connection is dead", () => {
  /**
   * A script runs, and no process of its connection does any more.
   *
   * @param {import("node:test").TestContext} t
   * @param {boolean} all nor one that could make another connection
   */
  async function dead(t, all) {
    const sshd = await startSshd();
    const ssh = sshRuntime(sshd.options);
    const { line, env } = mark();
    const stop = new AbortController();
    const running = failure(ssh.run(`${line}echo begun; sleep 600`, stop));
    await until(() => marked(env).length >= 1);
    const frozen = sshd.connections();
    if (all) frozen.push(/** @type {number} */ (sshd.child.pid));
    for (const pid of frozen) process.kill(pid, "SIGSTOP");
    t.after(async () => {
      for (const pid of frozen) process.kill(pid, "SIGCONT");
      await ssh.close();
      await sshd.stop();
    });
    return { ssh, stop, running, env };
  }

  /** Has the time pass that a shell has to be there. @param {import("node:test").TestContext} t */
  function holdTimeouts(t) {
    /** @type {AbortController[]} */
    const held = [];
    t.mock.method(AbortSignal, "timeout", () => {
      const timeout = new AbortController();
      held.push(timeout);
      return timeout.signal;
    });
    /** @param {() => boolean} isTried it has come so far that it waits for the other side */
    return async (isTried) => {
      await until(() => held.length > 0 && isTried());
      held.shift()?.abort(new DOMException("The operation timed out", "TimeoutError"));
    };
  }

  /** How many `ssh` this process has whose command line has a word. @param {string} word */
  const clients = (word) =>
    processesThat((pid) => {
      const words = readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0");
      return statOf(pid)[1] === String(process.pid) && words.includes(word);
    }).length;
  /** Beside the script's own, there is one for a shell that is to stop it. */
  const hasShell = () => clients("exec sh") === 2;
  /** Another connection is being made. */
  const isConnecting = () => clients("-N") === 1;

  it("stops an aborted script over another one", { timeout: 120_000 }, async (t) => {
    const { stop, running, env } = await dead(t, false);
    const timePasses = holdTimeouts(t);
    stop.abort();
    await timePasses(hasShell);
    const error = await running;
    assert.ok(error instanceof InterruptedError);
    assert.equal(error.message, "interrupted");
    assert.deepEqual(marked(env), []);
  });

  it("says that a script may still run when there is no other", { timeout: 120_000 }, async (t) => {
    const { ssh, running, env } = await dead(t, true);
    const timePasses = holdTimeouts(t);
    const closed = ssh.close();
    // Over the connection that there is, and over another one.
    await timePasses(hasShell);
    await timePasses(isConnecting);
    await closed;
    const error = await running;
    assert.ok(error instanceof InterruptedError);
    assert.match(error.message, /it may still run/);
    const left = marked(env);
    assert.ok(left.length > 0);
    for (const pid of left) process.kill(Number(pid), "SIGKILL");
  });
});

it("a process that was killed leaves no connection and no socket", async () => {
  const [name = ""] = readdirSync(folder);
  const sockets = () => readdirSync(join(folder, name));
  assert.ok(sockets().length <= 1);
  await until(() => sockets().length === 0);
  await until(() => abandoned.connections().length === 0);
  assert.deepEqual(readdirSync(folder), [name], "the folder is the next one's");
});
