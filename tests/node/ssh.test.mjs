// A machine over SSH: a real server on a loopback port, and the system's client.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import {
  ClosedError,
  InterruptedError,
  InvalidArgumentError,
  isSandpipeError,
  OutputLimitError,
  SandpipeError,
  SshError,
} from "sandpipe";
import { sshRuntime } from "sandpipe/node";

// No part of the package's interface.
import { RemoteOutput } from "../../dist/node/ssh/remote-script.js";
import { marked, processesThat, statOf, until } from "../support/processes.mjs";
import { startSshd, withPath } from "../support/sshd.mjs";
import { failure, mark } from "../support/script.mjs";

/** @typedef {Awaited<ReturnType<typeof startSshd>>} Sshd */

/**
 * Has sockets in a folder of the test's own, which it gets.
 *
 * @param {(sockets: string) => Promise<void>} test
 */
async function withOwnSockets(test) {
  // Short: the path of a socket has little room.
  const temporary = mkdtempSync(join(tmpdir(), "sandpipe-t-"));
  const usual = process.env["TMPDIR"];
  process.env["TMPDIR"] = temporary;
  try {
    await test(join(temporary, `sandpipe-ssh-${process.geteuid?.()}`));
  } finally {
    if (usual === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = usual;
    rmSync(temporary, { recursive: true });
  }
}

describe("a machine over SSH", () => {
  /** @type {Sshd} */
  let sshd;
  /** @type {import("sandpipe/node").SshRuntime} */
  let ssh;

  before(async () => {
    sshd = await startSshd();
    ssh = sshRuntime(sshd.options);
  });
  after(async () => {
    await ssh.close();
    await sshd.stop();
  });

  it("gives the true exit code and the whole output", async () => {
    assert.deepEqual(await ssh.run("echo out; echo err >&2; printf end; exit 3"), {
      exitCode: 3,
      output: "out\nerr\nend",
    });
    assert.deepEqual(await ssh.run(""), { exitCode: 0, output: "" });
    // The code that the client of OpenSSH has for its own failures.
    assert.deepEqual(await ssh.run("exit 255"), { exitCode: 255, output: "" });
    assert.equal((await ssh.run("kill -KILL $(sh -c 'echo $PPID')")).exitCode, 137);
    assert.equal((await ssh.run("exec sh -c 'exit 9'")).exitCode, 9);
    assert.equal((await ssh.run("nonexistent_command_xyz")).exitCode, 127);
    const { output } = await ssh.run("seq 1 300000");
    assert.equal(output.length, 1_988_895);
    assert.ok(output.endsWith("\n299999\n300000\n"));
  });

  it("takes any script", async () => {
    const text = "é'\\\n$`\"!".repeat(250_000);
    const { output } = await ssh.run(`wc -c <<'EOF'\n${text}\nEOF`);
    assert.equal(Number(output), Buffer.byteLength(text) + 1);
    assert.equal((await ssh.run("echo a # a comment")).output, "a\n");
    assert.equal((await ssh.run("read line || echo no stdin")).output, "no stdin\n");
    const broken = await ssh.run("echo 'unbalanced");
    assert.equal(broken.exitCode, 2);
    assert.notEqual(broken.output, "");
    assert.ok((await failure(ssh.run("a\0b"))) instanceof InvalidArgumentError);
  });

  it("is not fooled by what looks like its markers, and hides them", async () => {
    const fake = `printf '\\036%s:e0\\036' 00000000000000000000000000000000; printf '\\036'
      set; env; cat /proc/$$/cmdline | tr '\\0' ' '; exit 4`;
    const { exitCode, output } = await ssh.run(fake);
    assert.equal(exitCode, 4);
    assert.ok(output.startsWith(`\x1e${"0".repeat(32)}:e0\x1e\x1e`));
    assert.doesNotMatch(output.slice(40), /[0-9a-f]{32}:/);
  });

  it("is not held up by a job in the background", async () => {
    const { line, env } = mark();
    const { output, exitCode } = await ssh.run(`${line}sleep 1000 & echo started`);
    assert.deepEqual([output, exitCode], ["started\n", 0]);
    // It goes on. Until it is `sleep` it does not carry the mark.
    await until(() => marked(env).length > 0);
    for (const pid of marked(env)) process.kill(Number(pid), "SIGKILL");
  });

  it("shares a connection, and makes more for many scripts at once", async () => {
    const own = sshRuntime(sshd.options);
    const before = sshd.connections().length;
    await own.run("true");
    await own.run("true");
    assert.equal(sshd.connections().length, before + 1);
    const numbers = Array.from({ length: 30 }, (_, number) => number);
    const results = await Promise.all(
      numbers.map((number) => own.run(`sleep 0.1; echo ${number}`)),
    );
    assert.deepEqual(
      results.map(({ output }) => Number(output)),
      numbers,
    );
    assert.ok(sshd.connections().length <= before + 4, "eight scripts to a connection");
    await own.close();
    await until(() => sshd.connections().length === before);
  });

  it("keeps its sockets in a folder for its user alone, and removes them at its end", async () => {
    await withOwnSockets(async (sockets) => {
      const own = sshRuntime(sshd.options);
      const another = sshRuntime(sshd.options);
      await Promise.all([own.run("true"), another.run("true")]);
      assert.equal(statSync(sockets).mode & 0o777, 0o700);
      assert.equal(readdirSync(sockets).length, 2);
      await Promise.all([own.close(), own.close()]);
      assert.equal(readdirSync(sockets).length, 1);
      assert.ok((await failure(own.run("true"))) instanceof ClosedError);
      await another.close();
      assert.deepEqual(readdirSync(sockets), []);
    });
  });

  it("refuses a folder for its sockets that is not its user's alone", async () => {
    await withOwnSockets(async (sockets) => {
      const elsewhere = `${sockets}-elsewhere`;
      mkdirSync(elsewhere, { mode: 0o700 });
      for (const make of [
        () => symlinkSync(elsewhere, sockets),
        () => writeFileSync(sockets, ""),
        () => (mkdirSync(sockets), chmodSync(sockets, 0o750)),
      ]) {
        make();
        const own = sshRuntime(sshd.options);
        const error = await failure(own.run("true"));
        assert.ok(error instanceof SshError);
        assert.match(error.message, /it is not this user's alone\. Remove it, or set TMPDIR/);
        await own.close();
        rmSync(sockets, { recursive: true });
      }
    });
  });

  it("is not held up by what an aborted script moved to another session", async () => {
    const { line, env } = mark();
    const stop = new AbortController();
    const running = failure(ssh.run(`${line}setsid sleep 600 & sleep 600`, stop));
    // Before it leads a session, `setsid` is in the script's group.
    const leadsSession = (/** @type {string} */ pid) => statOf(pid)[3] === pid;
    await until(() => marked(env).length >= 2 && marked(env).some(leadsSession));
    stop.abort();
    assert.ok((await running) instanceof InterruptedError);
    const left = marked(env);
    assert.equal(left.length, 1, "it is in no group of the script's");
    process.kill(Number(left[0]), "SIGKILL");
  });

  it("refuses more output than a string can hold, and stops the script", async () => {
    const { line, env } = mark();
    const error = await failure(ssh.run(`${line}tr '\\0' x </dev/zero`));
    assert.ok(error instanceof OutputLimitError);
    assert.match(error.message, /longer than a string can be \(\d+ characters\); it was stopped/);
    assert.equal(error.output.length, 2 ** 29 - 24);
    assert.deepEqual(marked(env), []);
    assert.equal((await ssh.run("echo on")).output, "on\n");
  });

  it("stops a script that is aborted, with all that it started", async () => {
    const { line, env } = mark();
    const stop = new AbortController();
    const reason = new Error("enough");
    const script = `${line}trap 'echo bye; exit' TERM; sleep 1000 & sleep 1000`;
    const running = failure(ssh.run(script, { signal: stop.signal }));
    await until(() => marked(env).length >= 2);
    stop.abort(reason);
    const error = await running;
    assert.ok(error instanceof InterruptedError);
    assert.deepEqual([error.exitCode, error.forced, error.cause], [130, false, reason]);
    assert.match(String(error.output), /bye\n$/);
    assert.deepEqual(marked(env), []);
    assert.equal((await ssh.run("echo on")).output, "on\n");
  });

  it("kills a script that ignores SIGTERM", { timeout: 120_000 }, async (t) => {
    // Who waits for its end there waits without pauses: 10 s pass at once.
    const folder = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
    symlinkSync("/bin/true", join(folder, "sleep"));
    const server = await startSshd({ settings: [withPath(`${folder}:${process.env["PATH"]}`)] });
    const own = sshRuntime(server.options);
    t.after(async () => {
      await own.close();
      await server.stop();
      rmSync(folder, { recursive: true });
    });
    const { line, env } = mark();
    const stop = new AbortController();
    const script = `${line}trap '' TERM; while :; do /bin/sleep 0.1; done`;
    const running = failure(own.run(script, { signal: stop.signal }));
    // Its `sleep` is there once it ignores SIGTERM.
    await until(() => marked(env).length >= 1);
    stop.abort();
    const error = await running;
    assert.ok(error instanceof InterruptedError);
    assert.equal(error.forced, true);
    assert.deepEqual(marked(env), []);
  });

  it("runs nothing when the signal has been aborted before", async () => {
    const error = await failure(ssh.run("echo ran", { signal: AbortSignal.abort("no") }));
    assert.ok(error instanceof InterruptedError);
    assert.deepEqual([error.output, error.cause], ["", "no"]);
  });

  it("stops what is under way when it is closed", async () => {
    const { line, env } = mark();
    const own = sshRuntime(sshd.options);
    const running = failure(own.run(`${line}sleep 1000`));
    await until(() => marked(env).length >= 1);
    await own.close();
    assert.ok((await running) instanceof InterruptedError);
    assert.deepEqual(marked(env), []);
  });

  it("goes on over a new connection when the one before is gone", async () => {
    const own = sshRuntime(sshd.options);
    const others = sshd.connections();
    await own.run("true");
    for (let round = 0; round < 2; round += 1) {
      sshd.breakConnections(others);
      assert.equal((await own.run("echo on")).output, "on\n");
    }
    // The client's end: a master that is killed leaves its socket.
    const { identityFile } = sshd.options;
    /** @type {string[]} */
    let masters = [];
    await until(async () => {
      // A session whose connection breaks as it begins may have one of its own, without a master.
      await own.run("true");
      masters = processesThat((pid) =>
        readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(identityFile),
      );
      return masters.length > 0;
    });
    for (const pid of masters) process.kill(Number(pid), "SIGKILL");
    assert.equal((await own.run("echo on")).output, "on\n");
    assert.equal((await ssh.run("echo on")).output, "on\n");
    await own.close();
  });

  it("begins again over a new connection when the one before breaks before the shell answers", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
    const [closed, waits] = [join(folder, "closed"), join(folder, "waits")];
    const shell = `while [ -e ${closed} ]; do : >${waits}; sleep 0.02; done; exec sh`;
    const server = await startSshd({ settings: [`ForceCommand ${shell}`] });
    const own = sshRuntime(server.options);
    t.after(async () => {
      await own.close();
      await server.stop();
      rmSync(folder, { recursive: true });
    });
    await own.run("true");
    writeFileSync(closed, "");
    const running = own.run("echo on");
    await until(() => existsSync(waits));
    server.breakConnections();
    rmSync(closed);
    assert.equal((await running).output, "on\n");
  });

  it("a script that may have begun is never run again", async () => {
    const own = sshRuntime(sshd.options);
    const others = sshd.connections();
    const file = join(sshd.folder, "runs");
    // It goes on for as long as there is the file.
    const script = `echo ran >>'${file}'; echo begun; while [ -e '${file}' ]; do sleep 0.1; done`;
    const running = failure(own.run(script));
    const ran = () => readdirSync(sshd.folder).includes("runs");
    await until(ran);
    sshd.breakConnections(others);
    const error = await running;
    assert.ok(error instanceof SshError && error instanceof SandpipeError);
    assert.ok(isSandpipeError(error, "ssh"));
    assert.deepEqual([error.mayHaveRun, error.host], [true, "127.0.0.1"]);
    // What it had printed need not have been carried yet.
    assert.ok("begun\n".startsWith(error.output), error.output);
    assert.match(error.message, /connection .* was lost: what became of the script is not known/);
    assert.equal((await own.run(`cat '${file}'`)).output, "ran\n");
    rmSync(file);
    await own.close();
  });

  it("says why it can't get in, and what to do", async () => {
    /** @param {Partial<import("sandpipe/node").SshRuntimeOptions>} options */
    const refused = async (options) => {
      const own = sshRuntime({ ...sshd.options, ...options });
      const error = await failure(own.run("echo ran"));
      await own.close();
      assert.ok(error instanceof SshError);
      assert.equal(error.mayHaveRun, false);
      return error;
    };
    const stranger = await refused({ identityFile: sshd.makeKey("stranger_key") });
    assert.match(stranger.message, /Permission denied .*Check `user` and `identityFile`/);

    const unknown = join(sshd.folder, "nobody_known");
    writeFileSync(unknown, "");
    const unknownHost = await refused({ knownHostsFile: unknown });
    assert.match(unknownHost.message, /key is not known: connect once by hand/);
    assert.equal(readFileSync(unknown, "utf8"), "", "it is not taken for known from now on");

    const changed = join(sshd.folder, "changed_hosts");
    copyFileSync(join(sshd.folder, "known_hosts"), changed);
    const other = readFileSync(join(sshd.folder, "stranger_key.pub"), "utf8");
    writeFileSync(changed, `[127.0.0.1]:${sshd.port} ${other}`);
    const changedHost = await refused({ knownHostsFile: changed });
    assert.match(changedHost.message, /not the known one: somebody may be in between/);
    assert.ok(changedHost.hint && changedHost.message.endsWith(changedHost.hint));

    const away = await startSshd();
    await away.stop();
    const nobody = await refused({ port: away.port });
    assert.match(nobody.message, /Connection refused.* Check `host` and `port`/);
  });

  it("says when there is no ssh", async () => {
    const path = process.env["PATH"];
    process.env["PATH"] = "/nonexistent";
    try {
      const own = sshRuntime(sshd.options);
      const error = await failure(own.run("true"));
      await own.close();
      assert.ok(error instanceof SshError);
      assert.match(error.message, /ssh could not be run: .*Install OpenSSH/);
    } finally {
      process.env["PATH"] = path;
    }
  });

  it(
    "gives up where ssh ends well and has made no connection",
    { timeout: 120_000 },
    async (test) => {
      const folder = mkdtempSync(join(tmpdir(), "sandpipe-t-"));
      const starts = join(folder, "starts");
      writeFileSync(join(folder, "ssh"), `#!/bin/sh\n[ "$1" = -V ] || echo start >>'${starts}'\n`, {
        mode: 0o755,
      });
      const path = process.env["PATH"];
      process.env["PATH"] = `${folder}:${path}`;
      const own = sshRuntime(sshd.options);
      test.after(async () => {
        await own.close();
        process.env["PATH"] = path;
        rmSync(folder, { recursive: true });
      });
      for (const scripts of [1, 3]) {
        writeFileSync(starts, "");
        const running = Array.from({ length: scripts }, () => failure(own.run("true")));
        for (const error of await Promise.all(running)) {
          assert.ok(error instanceof SshError);
          assert.match(
            error.message,
            /^127\.0\.0\.1 .*: ssh ended without one\. Check that `ssh` is/,
          );
          assert.deepEqual([error.mayHaveRun, error.host], [false, "127.0.0.1"]);
        }
        const started = readFileSync(starts, "utf8").length / "start\n".length;
        assert.ok(started <= scripts, `${started} starts for ${scripts} scripts`);
      }
    },
  );

  it("says when the system has no room for one more script", async () => {
    const source = `import { sshRuntime } from ${JSON.stringify(import.meta.resolve("sandpipe/node"))};
      const ssh = sshRuntime(${JSON.stringify(sshd.options)});
      await ssh.run("true");
      const all = await Promise.allSettled(Array.from({ length: 40 }, () => ssh.run("echo a")));
      const failed = all.filter(({ status }) => status === "rejected");
      console.log(failed.length > 0, failed.every(({ reason }) => /ssh could not be run: (spawn .*ssh|connect) EMFILE/.test(reason.message)));
      console.log((await ssh.run("echo on")).output);
      await ssh.close();`;
    const limited = 'ulimit -n 60; exec "$0" --input-type=module --eval "$1"';
    const said = execFileSync("sh", ["-c", limited, process.execPath, source]);
    assert.equal(String(said), "true true\non\n\n");
  });

  it("refuses options that are wrong, or would be options of ssh", () => {
    for (const wrong of [
      { host: "-oProxyCommand=touch /tmp/x" },
      { host: "" },
      { host: "a b" },
      { host: "a\nb" },
      { user: "-l" },
      { port: 0 },
      { port: 65_536 },
      { port: "22" },
      { identityFile: "" },
      { identityFile: 'a"b' },
      { password: "secret" },
    ]) {
      assert.throws(
        // @ts-expect-error They are wrong.
        () => sshRuntime({ ...sshd.options, ...wrong }),
        (error) => error instanceof InvalidArgumentError && error.message.includes("`options"),
        JSON.stringify(wrong),
      );
    }
  });
});

describe("a machine over SSH that gives no shell", () => {
  for (const [how, message] of [
    [
      "echo go away; exit 7",
      /gave no shell, but ended with 7: go away\. Check that no ForceCommand/,
    ],
    ["exit 255", /can't be reached over SSH/],
    ["kill -KILL $PPID", /can't be reached over SSH/],
  ]) {
    it(`is asked once and no more: ${how}`, async () => {
      const folder = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
      const runs = join(folder, "runs");
      const sshd = await startSshd({ settings: [`ForceCommand echo ran >>'${runs}'; ${how}`] });
      const ssh = sshRuntime(sshd.options);
      const error = await failure(ssh.run(`echo script >>'${runs}'`));
      assert.ok(error instanceof SshError);
      assert.deepEqual([error.mayHaveRun, error.output], [false, ""]);
      assert.match(error.message, /** @type {RegExp} */ (message));
      assert.equal(readFileSync(runs, "utf8"), "ran\n");
      await ssh.close();
      await sshd.stop();
      rmSync(folder, { recursive: true });
    });
  }
});

describe("a machine over SSH that has something to say first", () => {
  it("runs scripts all the same", async () => {
    const sshd = await startSshd({
      settings: ["ForceCommand echo 'a banner: \\036'; eval $SSH_ORIGINAL_COMMAND"],
    });
    const ssh = sshRuntime(sshd.options);
    assert.deepEqual(await ssh.run("echo a; exit 3"), { exitCode: 3, output: "a\n" });
    await ssh.close();
    await sshd.stop();
  });
});

it("what a remote shell says is understood wherever it is cut", () => {
  const nonce = "0123456789abcdef";
  const said = `banner \x1e\x1e${nonce}:g42\x1eout\x1e${nonce}:no\x1e€ put\x1e${nonce}:e7\x1elate`;
  for (const size of [1, 2, 3, 5, 7, 11, 1000]) {
    const remote = new RemoteOutput(nonce);
    for (let at = 0; at < said.length; at += size) remote.feed(said.slice(at, at + size));
    assert.deepEqual(
      [remote.group, remote.exitCode, remote.output],
      [42, 7, `out\x1e${nonce}:no\x1e€ putlate`],
      `in pieces of ${size}`,
    );
  }
});
