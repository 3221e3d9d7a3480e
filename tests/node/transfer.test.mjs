// @ts-check
// upload() and download() with a real agent.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  opendirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { basename, dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";

import { connect, isSandpipeError } from "sandpipe";
import { download, upload } from "sandpipe/node";

import { dist } from "../../scripts/project.mjs";
import { until } from "../support/processes.mjs";
import { Random } from "../support/random.mjs";
import { Relay } from "../support/relay.mjs";
import { RestartableAgent } from "../support/restartable-agent.mjs";
import { failure } from "../support/script.mjs";
import { directoryInMemory, temporaryDirectory } from "../support/target.mjs";
import { described, makeTree } from "./trees.mjs";
import { interruptedBy } from "../support/interrupted.mjs";

const directory = temporaryDirectory();
const agent = new RestartableAgent(directory);
const address = () => ({ url: agent.url, token: agent.token });
/** @type {import("sandpipe").Sandbox} */
let sandbox;
before(async () => {
  await agent.start();
  sandbox = await connect(address());
});
after(async () => {
  sandbox.close();
  await agent.stop();
  rmSync(directory, { recursive: true });
});

let paths = 0;
const newPath = () => join(directory, `path ${(paths += 1)}`);

/** What nobody asked for below a directory: temporary files. @param {string} path */
function leftIn(path) {
  if (!existsSync(path)) return [];
  // As it may be in the middle of something.
  const { stdout } = spawnSync("find", [path, "-name", ".sandpipe*", "-o", "-name", "*.tmp*"]);
  return String(stdout).split("\n").filter(Boolean);
}

/** What is in a directory, in the order of the system. @param {string} path */
function pathsIn(path) {
  const entries = opendirSync(path);
  const paths = [];
  for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
    paths.push(join(path, entry.name));
  }
  entries.closeSync();
  return paths;
}

describe("a tree", () => {
  it("of 1000 files is the same there and back", async () => {
    const [from, there, back] = [newPath(), newPath(), newPath()];
    makeTree(from, 1000, "transfer");
    /** @type {import("sandpipe/node").TransferProgress[]} */
    const seen = [];
    await upload(sandbox, from, there, { onProgress: (progress) => seen.push(progress) });
    assert.deepEqual(described(there), described(from));
    assert.equal(seen.at(-1)?.files, 1000);
    assert.ok(seen.every(({ bytes }, index) => bytes >= (seen[index - 1]?.bytes ?? 0)));
    await download(sandbox, there, back);
    assert.deepEqual(described(back), described(from));
  });

  it("leaves out what is excluded, either way", async () => {
    const [from, there, back] = [newPath(), newPath(), newPath()];
    for (const path of ["a/node_modules/x", "a/b.log", "a/keep", "node_modules/y", "b.log"]) {
      mkdirSync(dirname(join(from, path)), { recursive: true });
      writeFileSync(join(from, path), path);
    }
    await upload(sandbox, from, there, { exclude: ["node_modules"] });
    assert.deepEqual(Object.keys(described(there)), ["a", "a/b.log", "a/keep", "b.log"]);
    await download(sandbox, there, back, { exclude: ["a/*.log"] });
    assert.deepEqual(Object.keys(described(back)), ["a", "a/keep", "b.log"]);
  });

  it(
    "goes there and back with the rights of another user",
    { skip: process.getuid?.() !== 0 && "only for root" },
    async () => {
      const user = { user: "nobody" };
      const [from, there, back, roots] = [newPath(), newPath(), newPath(), newPath()];
      mkdirSync(join(from, "deep"), { recursive: true });
      writeFileSync(join(from, "deep", "file"), "x");
      const error = await failure(upload(sandbox, from, roots, user));
      assert.ok(isSandpipeError(error, "http") && error.status === 403, String(error));
      assert.ok(!existsSync(roots));
      mkdirSync(there);
      chownSync(there, 65_534, 65_534);
      chmodSync(directory, 0o755);
      await upload(sandbox, from, join(there, "tree"), user);
      await upload(sandbox, join(from, "deep", "file"), join(there, "file"), user);
      for (const path of ["tree/deep", "tree/deep/file", "file"]) {
        assert.equal(statSync(join(there, path)).uid, 65_534, path);
      }
      await download(sandbox, there, back, user);
      assert.deepEqual(Object.keys(described(back)), [
        "file",
        "tree",
        "tree/deep",
        "tree/deep/file",
      ]);
      chmodSync(join(from, "deep"), 0o700);
      const secret = await failure(download(sandbox, join(from, "deep", "file"), newPath(), user));
      assert.ok(isSandpipeError(secret, "http") && secret.status === 403, String(secret));
    },
  );

  it("keeps what else is in a directory that is there, and is not written through links", async () => {
    const [from, there, outside] = [newPath(), newPath(), newPath()];
    for (const path of [from, there, outside]) mkdirSync(path);
    mkdirSync(join(from, "link"));
    writeFileSync(join(from, "link", "file"), "x");
    writeFileSync(join(there, "other"), "kept");
    symlinkSync(outside, join(there, "link"));
    for (const transfer of [
      () => upload(sandbox, from, there),
      () => download(sandbox, from, there),
    ]) {
      const error = await failure(transfer());
      assert.ok(error instanceof Error && error.message !== "");
      assert.deepEqual(readdirSync(outside), []);
      assert.equal(readFileSync(join(there, "other"), "utf8"), "kept");
      assert.deepEqual(leftIn(there), []);
    }
  });

  it("is begun again where connections break, and is whole then", async (test) => {
    const [from, there, back] = [newPath(), newPath(), newPath()];
    makeTree(from, 200, "broken");
    const relay = new Relay(agent.url);
    const url = await relay.listen();
    /** @type {string[]} */
    const retried = [];
    const onRetry = (/** @type {import("sandpipe").RetryContext} */ { operation }) => {
      retried.push(operation);
      if (retried.length === 4) relay.breakAfter = Infinity;
    };
    const retry = { maxAttempts: 5, baseDelayMs: 1, onRetry };
    const broken = await connect({ ...address(), url, retry });
    test.after(() => {
      broken.close();
      return relay.close();
    });
    // In the middle of the first two attempts; of the upload when the large file has gone by.
    let [attempts, before] = [0, Infinity];
    const onProgress = (/** @type {{ bytes: number }} */ { bytes }) => {
      if (bytes < before) attempts += 1;
      if (attempts <= 2 && bytes > 3_000_000 && before <= 3_000_000) relay.breakAll();
      before = bytes;
    };
    await upload(broken, from, there, { onProgress });
    // The agent may still remove what a broken attempt has begun, and gives the directory its time back then.
    const isWhole = () => {
      try {
        return isDeepStrictEqual(described(there), described(from));
      } catch (error) {
        // It has removed what is looked at.
        if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") return false;
        throw error;
      }
    };
    await until(isWhole);
    assert.deepEqual(retried, ["write tree", "write tree"]);
    relay.breakAfter = 2_000_000;
    await download(broken, there, back);
    assert.deepEqual(retried.slice(2), ["read tree", "read tree"]);
    assert.deepEqual(described(back), described(from));
    assert.deepEqual([...leftIn(there), ...leftIn(back)], []);
  });

  it("fails with what can't be read, and leaves each file whole", async () => {
    const [from, there] = [newPath(), newPath()];
    mkdirSync(from);
    writeFileSync(join(from, "a"), "new");
    writeFileSync(Buffer.concat([Buffer.from(`${from}/b`), Buffer.from([0xff])]), "");
    const error = await failure(upload(sandbox, from, there));
    assert.match(error.message, /its name is not UTF-8/);
    await until(() => leftIn(there).length === 0);
    rmSync(from, { recursive: true });
    mkdirSync(from);
    const back = newPath();
    for (const byte of [0xfe, 0xff]) {
      writeFileSync(Buffer.concat([Buffer.from(`${from}/b`), Buffer.from([byte])]), "");
    }
    const unreadable = await failure(download(sandbox, from, back));
    assert.match(unreadable.message, /^"b\uFFFD" is not UTF-8/);
    assert.deepEqual(readdirSync(back), []);
    const missing = await failure(download(sandbox, join(directory, "none"), there));
    assert.ok(isSandpipeError(missing, "http") && missing.status === 404, String(missing));
    const none = await failure(upload(sandbox, join(directory, "none"), there));
    assert.ok(isSandpipeError(none, "system") && none.errno === "ENOENT", String(none));
  });

  it("names what the agent can't read, and is not read again", async (test) => {
    const from = newPath();
    mkdirSync(from);
    chmodSync(directory, 0o755);
    for (const name of ["one", "other"]) writeFileSync(join(from, name), "");
    // In the order in which the agent reads them.
    const [large = "", secret = ""] = pathsIn(from);
    writeFileSync(large, Buffer.alloc(2_000_000));
    chmodSync(secret, 0o000);
    // Root may read everything.
    const user = process.getuid?.() === 0 ? { user: "nobody" } : {};
    const relay = new Relay(agent.url);
    const relayed = await connect({ ...address(), url: await relay.listen() });
    test.after(() => {
      relayed.close();
      return relay.close();
    });
    const to = newPath();
    const error = await failure(download(relayed, from, to, user));
    assert.ok(isSandpipeError(error, "http"), String(error));
    assert.deepEqual([error.status, error.body], [403, `${secret}: Permission denied`]);
    const trees = relay.requests.filter((request) => request.includes("/trees/"));
    assert.equal(trees.length, 1, relay.requests.join("\n"));
    assert.deepEqual(readdirSync(to), [basename(large)]);
  });

  it("ends at once when it is aborted, with the signal's reason", async () => {
    const [from, there, back] = [newPath(), newPath(), newPath()];
    makeTree(from, 300, "aborted");
    for (const transfer of /** @type {const} */ ([
      [upload, from, there],
      [download, from, back],
    ])) {
      const [act, source, target] = transfer;
      const stop = new AbortController();
      const reason = new Error("enough");
      const onProgress = () => stop.abort(reason);
      const error = await failure(
        act(sandbox, source, target, { signal: stop.signal, onProgress }),
      );
      assert.ok(interruptedBy(reason)(error));
      await until(() => leftIn(target).length === 0);
      const early = act(sandbox, source, target, { signal: AbortSignal.abort(reason) });
      assert.ok(interruptedBy(reason)(await failure(early)));
    }
    const reason = Object.assign(new Error("thrown"), { code: "EACCES" });
    const throwing = () => {
      throw reason;
    };
    for (const act of [upload, download]) {
      assert.equal(await failure(act(sandbox, from, newPath(), { onProgress: throwing })), reason);
    }
  });

  it("ends with the signal's reason when it is aborted after its last file, and has modes all the same", async (test) => {
    const inMemory = directoryInMemory();
    test.after(() => rmSync(inMemory, { recursive: true }));
    const [from, to] = [join(inMemory, "from"), join(inMemory, "to")];
    mkdirSync(from);
    const names = Array.from({ length: 20_000 }, (_, n) => `${n}`);
    for (const name of names) mkdirSync(join(from, name), 0o700);
    const isPrivate = (/** @type {string} */ name) =>
      (statSync(join(to, name)).mode & 0o777) === 0o700;
    const stop = new AbortController();
    /** Aborts once modes are set of some, which is after the last of them has been made. */
    const abort = () => {
      if (names.some(isPrivate)) stop.abort(new Error("enough"));
      else setImmediate(abort);
    };
    let left = names.length;
    const onProgress = () => {
      left -= 1;
      if (left === 0) setImmediate(abort);
    };
    const error = await failure(download(sandbox, from, to, { signal: stop.signal, onProgress }));
    assert.ok(interruptedBy(stop.signal.reason)(error));
    assert.ok(names.every(isPrivate));
  });
});

describe("a signal", () => {
  it("ends what waits for an agent that never answers", async (test) => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    const hanging = await connect({ url: `http://127.0.0.1:${port}`, token: "x" });
    test.after(() => {
      hanging.close();
      server.close();
    });
    const stop = new AbortController();
    const connected = once(server, "connection");
    const ended = failure(download(hanging, "a", newPath(), { signal: stop.signal }));
    const [socket] = await connected;
    test.after(() => socket.destroy());
    stop.abort(new Error("enough"));
    assert.ok(interruptedBy(stop.signal.reason)(await ended));
  });

  it("that is aborted while all is being prepared is not lost", async () => {
    const [from, there, file] = [newPath(), newPath(), newPath()];
    makeTree(from, 10, "early");
    writeFileSync(file, "x");
    for (const act of [upload, download]) {
      for (const source of [from, file]) {
        const stop = new AbortController();
        const ended = failure(act(sandbox, source, there, { signal: stop.signal }));
        stop.abort(new Error("enough"));
        assert.ok(interruptedBy(stop.signal.reason)(await ended));
        assert.ok(!existsSync(there));
      }
    }
  });
});

describe("a file", () => {
  it("is the same there and back, with its mode, and its time here", async () => {
    const [from, there, back] = [newPath(), newPath(), newPath()];
    const content = Buffer.alloc(9_000_000, "some content\n");
    for (const bytes of [content, Buffer.alloc(0)]) {
      rmSync(there, { force: true });
      writeFileSync(from, bytes, { mode: 0o750 });
      await upload(sandbox, from, there);
      assert.ok(readFileSync(there).equals(bytes));
      assert.equal(statSync(there).mode & 0o777, 0o750);
      utimesSync(there, 1.5e9, 1.5e9);
      await download(sandbox, there, join(back, "deep", "file"));
      assert.ok(readFileSync(join(back, "deep", "file")).equals(bytes));
      const stats = statSync(join(back, "deep", "file"));
      assert.deepEqual([stats.mode & 0o777, stats.mtimeMs], [0o750, 1.5e12]);
    }
  });

  it("is not written in the place of a FIFO or a device, but of a symbolic link", async () => {
    const [from, to] = [newPath(), newPath()];
    mkdirSync(to);
    writeFileSync(from, "x");
    const [fifo, link, dangling] = [join(to, "fifo"), join(to, "link"), join(to, "dangling")];
    assert.equal(spawnSync("mkfifo", [fifo]).status, 0);
    symlinkSync(fifo, link);
    symlinkSync(join(to, "none"), dangling);
    for (const special of [fifo, link]) {
      const error = await failure(download(sandbox, from, special));
      assert.ok(isSandpipeError(error, "invalid_argument"), String(error));
      assert.match(error.message, /`local` must be .* but is something else/);
      assert.ok(statSync(special).isFIFO());
    }
    await download(sandbox, from, dangling);
    assert.ok(lstatSync(dangling).isFile());
    assert.deepEqual(readdirSync(to).sort(), ["dangling", "fifo", "link"]);
  });

  it("closes what it was to be written from, where the call is refused", async () => {
    const from = newPath();
    writeFileSync(from, "x");
    const isOpen = () =>
      readdirSync("/proc/self/fd").some((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`) === from;
        } catch {
          return false;
        }
      });
    const error = await failure(upload(sandbox, from, "a\0b"));
    assert.ok(isSandpipeError(error, "invalid_argument"), String(error));
    // It is opened, if at all, before another call has gone to the agent and back; it is closed in a thread of its own.
    await sandbox.files.stat(from);
    await until(() => !isOpen());
  });

  it("says which argument is wrong", async () => {
    for (const [call, message] of /** @type {const} */ ([
      [() => upload(/** @type {never} */ ({}), "a", "b"), /`sandbox` must be/],
      [() => upload(sandbox, "a\0", "b"), /`local` must be text without NUL/],
      [() => upload(sandbox, "/dev/null", "b"), /`local` must be a file or a directory/],
      [() => upload(sandbox, directory, "a\0b"), /`path` must be/],
      [
        () => download(sandbox, "a", "b", { exclude: /** @type {never} */ ("x") }),
        /`options.exclude`/,
      ],
      [
        () => upload(sandbox, "a", "b", /** @type {never} */ ({ excludes: [] })),
        /one with "excludes"/,
      ],
    ])) {
      const error = await failure(call());
      assert.ok(isSandpipeError(error, "invalid_argument"), String(error));
      assert.match(error.message, message);
    }
  });
});

describe("at random moments", () => {
  /** A program that uploads or downloads. @param {string} call */
  const program = (call) => `
    import { connect } from ${JSON.stringify(join(dist, "node.js"))};
    import { download, upload } from ${JSON.stringify(join(dist, "node", "index.js"))};
    const sandbox = await connect(${JSON.stringify(address())});
    const onProgress = () => process.stdout.write(".");
    ${call}`;

  it("a client that is killed leaves the old file or the new one, and no other beside it", async () => {
    const random = new Random("killed client");
    const [from, there] = [newPath(), newPath()];
    mkdirSync(from);
    mkdirSync(there);
    const names = Array.from({ length: 40 }, (_, n) => `f${n}`);
    for (const [n, name] of names.entries()) {
      writeFileSync(join(from, name), `new ${n}\n`.repeat(n === 20 ? 400_000 : 2000));
      writeFileSync(join(there, name), "old");
    }
    const call = `await upload(sandbox, ${JSON.stringify(from)}, ${JSON.stringify(there)}, { onProgress });`;
    for (let run = 0; run < 6; run += 1) {
      const child = spawn(process.execPath, ["--input-type=module", "-e", program(call)]);
      const files = random.between(1, 35);
      let seen = 0;
      const enough = new Promise((resolve) => {
        child.stdout.on("data", (dots) => (seen += dots.length) >= files && resolve(undefined));
      });
      const ended = once(child, "close");
      await Promise.race([enough, ended]);
      child.kill("SIGKILL");
      await ended;
      // Until the agent sees the end of the connection it may begin one more file.
      await until(() => isDeepStrictEqual(readdirSync(there).sort(), names.toSorted()));
      for (const name of names) {
        const content = readFileSync(join(there, name));
        const isWhole = content.equals(readFileSync(join(from, name)));
        assert.ok(isWhole || content.toString() === "old", `${name}, killed after ${files}`);
      }
    }
  });

  it("an agent that is killed leaves the old file or the new one, and no other beside it", async () => {
    const random = new Random("killed agent");
    const [from, there] = [newPath(), newPath()];
    mkdirSync(from);
    mkdirSync(there);
    const names = Array.from({ length: 40 }, (_, n) => `f${n}`);
    for (const [n, name] of names.entries()) {
      writeFileSync(join(from, name), `new ${n}\n`.repeat(n === 20 ? 400_000 : 2000));
      writeFileSync(join(there, name), "old");
    }
    const hasty = await connect({ ...address(), retry: { maxAttempts: 1 } });
    for (let run = 0; run < 5; run += 1) {
      const files = random.between(1, 35);
      let seen = 0;
      /** @type {Promise<void> | undefined} */
      let killed;
      const onProgress = () => {
        if ((seen += 1) >= files) killed ??= agent.kill();
      };
      const outcome = await upload(hasty, from, there, { onProgress }).catch((error) => error);
      await (killed ??= agent.kill());
      await agent.start();
      if (outcome !== undefined) assert.ok(isSandpipeError(outcome), String(outcome));
      await until(() => leftIn(there).length === 0);
      assert.deepEqual(readdirSync(there).sort(), names.toSorted());
      for (const name of names) {
        const content = readFileSync(join(there, name));
        const isWhole = content.equals(readFileSync(join(from, name)));
        assert.ok(isWhole || content.toString() === "old", `${name}, killed after ${files}`);
      }
    }
  });
});
