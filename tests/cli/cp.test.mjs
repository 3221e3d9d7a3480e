// @ts-check
// `sandpipe cp`: files and directories, either way.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { processesThat, until } from "../support/processes.mjs";
import { temporaryDirectory } from "../support/target.mjs";
import { installWithAgent } from "./with-agent.mjs";

const { sandpipe, env, run, remove } = await installWithAgent();
// The agent is on this machine: what it writes can be looked at.
const directory = temporaryDirectory();
after(async () => {
  await remove();
  rmSync(directory, { recursive: true });
});

let paths = 0;
/** A new directory. */
function newDirectory() {
  const path = join(directory, `d ${(paths += 1)}`);
  mkdirSync(path);
  return path;
}

/** @param {string[]} args */
async function copies(...args) {
  const end = await run("cp", ...args);
  assert.deepEqual(end, { exitCode: 0, signal: null, stdout: "", stderr: "" });
}

/**
 * An agent that never answers: what finds it, and the connections to it.
 *
 * @param {import("node:test").TestContext} test
 */
async function silentAgent(test) {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  /** @type {import("node:net").Socket[]} */
  const sockets = [];
  server.on("connection", (socket) => sockets.push(socket));
  test.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { env: { ...env, SANDPIPE_URL: `http://127.0.0.1:${port}` }, sockets };
}

describe("sandpipe cp", () => {
  it("copies a file there and back, with its mode", async () => {
    const [here, there] = [newDirectory(), newDirectory()];
    const bytes = Buffer.alloc(5_000_000, "\0some bytes\xff", "latin1");
    writeFileSync(join(here, "a"), bytes);
    chmodSync(join(here, "a"), 0o750);
    await copies(join(here, "a"), `sandbox:${there}/deep/b`);
    assert.ok(readFileSync(join(there, "deep", "b")).equals(bytes));
    assert.equal(statSync(join(there, "deep", "b")).mode & 0o777, 0o750);
    await copies(`sandbox:${there}/deep/b`, join(here, "c"));
    assert.ok(readFileSync(join(here, "c")).equals(bytes));
    assert.equal(statSync(join(here, "c")).mode & 0o777, 0o750);
  });

  it("puts what it copies into a directory that is there, under its name", async () => {
    const [here, there] = [newDirectory(), newDirectory()];
    writeFileSync(join(here, "a"), "x");
    await copies(join(here, "a"), `sandbox:${there}`);
    assert.equal(readFileSync(join(there, "a"), "utf8"), "x");
    await copies(here, `sandbox:${there}`);
    const name = here.slice(directory.length + 1);
    assert.equal(readFileSync(join(there, name, "a"), "utf8"), "x");
    // One that is to be a directory is made.
    await copies(`sandbox:${there}/a`, `${here}/new/`);
    assert.equal(readFileSync(join(here, "new", "a"), "utf8"), "x");
    await copies(join(here, "a"), `sandbox:${there}/made/`);
    assert.equal(readFileSync(join(there, "made", "a"), "utf8"), "x");
    // What is in a directory, without its name.
    await copies(`sandbox:${there}/${name}/.`, join(here, "new"));
    assert.deepEqual(readdirSync(join(here, "new")), ["a"]);
    // What has no name of its own goes the same way.
    await copies(`${here}/new/..`, `sandbox:${there}`);
    assert.equal(readFileSync(join(there, "new", "a"), "utf8"), "x");
  });

  it("copies directories with all that is in them, but for what is excluded", async () => {
    const [here, there, back] = [newDirectory(), newDirectory(), newDirectory()];
    for (const path of ["src/a.ts", "src/b.log", "node_modules/x/y", "src/node_modules/z"]) {
      mkdirSync(join(here, path, ".."), { recursive: true });
      writeFileSync(join(here, path), path);
    }
    symlinkSync("a.ts", join(here, "src", "link"));
    await copies("--exclude", "node_modules", here, `sandbox:${there}/app`);
    const list = (/** @type {string} */ path) =>
      readdirSync(path, { recursive: true }).map(String).sort();
    const all = ["src", "src/a.ts", "src/b.log", "src/link"];
    assert.deepEqual(list(join(there, "app")), all);
    await copies("--exclude", "*.log", "--exclude", "link", `sandbox:${there}/app`, back);
    assert.deepEqual(list(join(back, "app")), ["src", "src/a.ts"]);
  });

  it("copies nothing through a symbolic link that has the source's name in the target", async () => {
    const [here, there, outside] = [newDirectory(), newDirectory(), newDirectory()];
    mkdirSync(join(there, "app"));
    writeFileSync(join(there, "app", "a"), "x");
    symlinkSync(outside, join(here, "app"));
    const { exitCode, stderr } = await run("cp", `sandbox:${there}/app`, here);
    assert.equal(exitCode, 1);
    assert.match(stderr, /app is a symbolic link: nothing is read or written through it/);
    assert.deepEqual(readdirSync(outside), []);
    // A link that is named itself is followed.
    await copies(`sandbox:${there}/app/.`, join(here, "app"));
    assert.deepEqual(readdirSync(outside), ["a"]);
  });

  it("takes stdin, and writes to stdout, byte for byte", async () => {
    const there = newDirectory();
    const script = `head -c 3000000 /dev/urandom | tee original | sandpipe cp - 'sandbox:${there}/a' &&
      sandpipe cp 'sandbox:${there}/a' - | cmp - original && echo same`;
    const { stdout, stderr } = await (await sandpipe.startInShell(script, { env })).end;
    assert.deepEqual({ stdout, stderr }, { stdout: "same\n", stderr: "" });
  });

  it("ends when nobody reads its stdout any more", async () => {
    const there = newDirectory();
    writeFileSync(join(there, "large"), "");
    truncateSync(join(there, "large"), LARGE);
    const script = `sandpipe cp 'sandbox:${there}/large' - | head -c 1 | wc -c`;
    assert.equal((await (await sandpipe.startInShell(script, { env })).end).stdout.trim(), "1");
  });

  it("shows on a terminal how far it is, but not with --quiet", async (test) => {
    const { env: hanging, sockets } = await silentAgent(test);
    const here = newDirectory();
    writeFileSync(join(here, "a"), "x");
    const args = [join(here, "a"), "sandbox:a"];
    const quiet = await sandpipe.startInTerminal(["cp", "--quiet", ...args], { env: hanging });
    await until(() => sockets.length > 0);
    // It begins later: when it has shown something, the other one would have, too.
    const usual = await sandpipe.startInTerminal(["cp", ...args], { env: hanging });
    await usual.says(/copying: 0 files, 0 B: \d s/);
    for (const { stdin } of [quiet, usual]) stdin.write("\x03");
    for (const { stdout } of [await quiet.end, await usual.end]) {
      assert.match(stdout, /exit code 130\r\nrestored\r\n$/);
    }
    assert.doesNotMatch((await quiet.end).stdout, /copying|\x1b/);
  });

  it("says what could not be read or written", async () => {
    const here = newDirectory();
    writeFileSync(join(here, "a"), "x");
    for (const [args, message] of /** @type {const} */ ([
      [[`sandbox:${here}/none`, here], /read|stat.*404.*none/],
      [[`sandbox:${here}/none`, "-"], /404.*none/],
      [[join(here, "none"), "sandbox:"], /ENOENT.*none/],
      [[join(here, "a"), `sandbox:${here}/a/b`], /the agent answered 409: .*a/],
      [[`sandbox:${here}/a`, join(here, "a", "b")], /ENOTDIR|EEXIST/],
      [[`sandbox:${here}`, "-"], /400: .*directory/],
    ])) {
      const { exitCode, stderr, stdout } = await run("cp", ...args);
      assert.deepEqual([exitCode, stdout], [1, ""], stderr);
      assert.match(stderr, message);
      assert.match(stderr, /^sandpipe: .*\n$/);
    }
    assert.deepEqual(readdirSync(here), ["a"]);
    for (const [args, message] of /** @type {const} */ ([
      [["/dev/null", "sandbox:b"], /must be a file, a directory or -, .*: \/dev\/null/],
      [["a", "b"], /one side must be in the sandbox: write sandbox:PATH, as in .*a sandbox:b/],
      [["sandbox:a", "sandbox:b"], /one side must be here/],
      [["a", ""], /must not be empty/],
      [["a"], /missing required argument 'TARGET'/],
      [["a", "sandbox:b", "c"], /too many arguments/],
      [["--exclude", "x", "-", "sandbox:b"], /--exclude is for directories/],
      [["-", `sandbox:${here}/new/`], /stdin has no name: TARGET must be that of a file, but is /],
    ])) {
      const { exitCode, stderr } = await run("cp", ...args);
      assert.equal(exitCode, 2, stderr);
      assert.match(stderr, message);
    }
    // Never a device: where this went wrong it would be gone.
    const fifo = join(newDirectory(), "fifo");
    assert.equal(spawnSync("mkfifo", [fifo]).status, 0);
    const special = await run("cp", `sandbox:${here}/a`, fifo);
    assert.equal(special.exitCode, 2, special.stderr);
    assert.match(special.stderr, /TARGET must be .* something else: .*fifo/);
    assert.ok(statSync(fifo).isFIFO());
    const wrong = { ...env, SANDPIPE_TOKEN: "wrong" };
    const refused = await sandpipe.run(["cp", join(here, "a"), "sandbox:"], { env: wrong });
    assert.equal(refused.exitCode, 125);
    assert.match(refused.stderr, /--token-file, or in SANDPIPE_TOKEN/);
  });
});

/** Whether something is being written in a directory, by whatever name, or without one. @param {string} path */
const isWritten = (path) =>
  processesThat((pid) =>
    readdirSync(`/proc/${pid}/fd`).some((fd) => isIn(path, `/proc/${pid}/fd/${fd}`)),
  ).length > 0;

/** @param {string} path @param {string} link */
function isIn(path, link) {
  try {
    return readlinkSync(link).startsWith(`${path}/`);
  } catch {
    // It has been closed.
    return false;
  }
}

/** More than is copied before somebody stops it, in bytes: it takes no room, for there is nothing in it. */
const LARGE = 8 * 2 ** 30;

describe("Ctrl+C during sandpipe cp", () => {
  for (const way of ["into", "out of"]) {
    for (const kind of ["file", "directory"]) {
      const isInWorker = way === "into" && kind === "directory";
      const skip = isInWorker && process.geteuid?.() !== 0 && "needs root, to look into the worker";
      const name = `leaves the old file and no other beside it: a ${kind} ${way} the sandbox`;
      it(name, { skip }, async () => {
        const [from, to] = [newDirectory(), newDirectory()];
        writeFileSync(join(from, "large"), "");
        truncateSync(join(from, "large"), LARGE);
        writeFileSync(join(to, "large"), "old");
        const isFile = kind === "file";
        const [source, target] = isFile ? [`${from}/large`, `${to}/large`] : [`${from}/.`, to];
        const args = way === "into" ? [source, `sandbox:${target}`] : [`sandbox:${source}`, target];
        const invocation = await sandpipe.start(["cp", ...args], { env });
        await until(() => isWritten(to));
        assert.equal(readFileSync(join(to, "large"), "utf8"), "old");
        invocation.child.kill("SIGINT");
        const { signal, stdout, stderr } = await invocation.end;
        assert.deepEqual({ signal, stdout, stderr }, { signal: "SIGINT", stdout: "", stderr: "" });
        await until(() => !isWritten(to));
        assert.deepEqual(readdirSync(to), ["large"]);
        assert.equal(readFileSync(join(to, "large"), "utf8"), "old");
        await invocation.leavesNothing();
      });
    }
  }

  it("leaves nothing of stdin that has come in part", async () => {
    const to = newDirectory();
    const invocation = await sandpipe.start(["cp", "-", `sandbox:${to}/new`], { env });
    invocation.stdin.write(Buffer.alloc(10_000_000));
    await until(() => isWritten(to));
    invocation.child.kill("SIGINT");
    assert.equal((await invocation.end).signal, "SIGINT");
    await until(() => !isWritten(to));
    assert.deepEqual(readdirSync(to), []);
    await invocation.leavesNothing();
  });

  it("ends it where the agent never answers", async (test) => {
    const { env: hanging, sockets } = await silentAgent(test);
    const here = newDirectory();
    writeFileSync(join(here, "a"), "x");
    for (const args of [
      [join(here, "a"), "sandbox:a"],
      ["sandbox:a", join(here, "b")],
    ]) {
      const before = sockets.length;
      const invocation = await sandpipe.start(["cp", ...args], { env: hanging });
      await until(() => sockets.length > before);
      invocation.child.kill("SIGINT");
      const { signal, stderr } = await invocation.end;
      assert.deepEqual({ signal, stderr }, { signal: "SIGINT", stderr: "" });
    }
    assert.deepEqual(readdirSync(here), ["a"]);
  });

  it("ends it where nobody reads its stdout", async () => {
    const from = newDirectory();
    writeFileSync(join(from, "large"), "");
    truncateSync(join(from, "large"), LARGE);
    const invocation = await sandpipe.start(["cp", `sandbox:${from}/large`, "-"], { env });
    await once(invocation.child.stdout, "readable");
    invocation.child.stdout.pause();
    invocation.child.kill("SIGINT");
    assert.equal((await once(invocation.child, "exit"))[1], "SIGINT");
  });

  it("ends it in a terminal, which has shown how far it was", async () => {
    const [from, to] = [newDirectory(), newDirectory()];
    writeFileSync(join(from, "large"), "");
    truncateSync(join(from, "large"), LARGE);
    const args = ["cp", join(from, "large"), `sandbox:${to}/large`];
    const invocation = await sandpipe.startInTerminal(args, { env });
    await invocation.says(/copying: 0 files, [\d.]+ [MG]B: \d s/);
    invocation.stdin.write("\x03");
    const { stdout } = await invocation.end;
    assert.match(stdout, /\r\x1b\[K[^]*exit code 130\r\nrestored\r\n$/);
    await until(() => !isWritten(to));
    assert.deepEqual(readdirSync(to), []);
    await invocation.leavesNothing();
  });
});
