// Files of a real agent: whole or not at all, every byte once.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";

import { connect, isSandpipeError } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { until } from "../support/processes.mjs";
import { Relay } from "../support/relay.mjs";
import { interruptedBy } from "../support/interrupted.mjs";

const MEGABYTE = 1024 * 1024;

describe("files", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {import("sandpipe").Sandbox} */
  let sandbox;
  /** @type {import("sandpipe").Files} */
  let files;
  /** @type {string} */
  let workspace;

  before(async () => {
    workspace = await mkdtemp(join(tmpdir(), "sandpipe-files-"));
    agent = await startAgent({ args: ["--workspace", workspace] });
    sandbox = await connect(agent);
    ({ files } = sandbox);
  });
  after(async () => {
    await agent.stop();
    await rm(workspace, { recursive: true });
  });

  /** A directory that no other test uses. @param {string} name */
  const directory = async (name) => {
    await files.mkdir(name);
    return { name, path: join(workspace, name), names: () => readdir(join(workspace, name)) };
  };

  it("come back as they were written, with what there is to know of them", async () => {
    const bytes = Uint8Array.from({ length: 3 * MEGABYTE }, (_, index) => (index * 31) >> 3);
    for (const [name, content] of Object.entries({ text: "a€😀\n\ufeff", empty: "", bytes })) {
      const info = await files.write(`kinds/deep/${name}`, content);
      const expected = Buffer.from(content);
      assert.deepEqual(await readFile(join(workspace, "kinds/deep", name)), expected);
      assert.deepEqual(Buffer.from(await files.bytes(info)), expected);
      assert.deepEqual([info.size, info.type, info.isDir], [expected.length, "file", false]);
      assert.deepEqual(await files.stat(info), info);
    }
    await files.write("kinds/deep/text", "shorter");
    assert.equal(await files.read("kinds/deep/text"), "shorter");
    assert.equal(await files.read("kinds/deep/empty"), "");
    await assert.rejects(files.read("kinds/deep/bytes"), { code: "not_text" });
    const listed = await files.list("kinds", { depth: 2 });
    assert.deepEqual(
      listed.map(({ name, type }) => `${name} ${type}`),
      ["deep directory", "bytes file", "empty file", "text file"],
    );
  });

  const isRoot = process.getuid?.() === 0;
  it(
    "are touched with the rights of another user",
    { skip: !isRoot && "only for root" },
    async () => {
      const user = { user: "nobody:12" };
      const { name, path } = await directory("of-others");
      await chmod(workspace, 0o711);
      await chmod(path, 0o777);
      await files.write(`${name}/secret`, "secret", { mode: 0o600 });
      const secret = `${name}/secret`;
      for (const call of [
        () => files.read(secret, user),
        () => files.bytes(secret, user),
        () => files.readStream(secret, user).getReader().read(),
        () => files.write("of-root", "", user),
        () => files.list(".", user),
        () => files.mkdir("of-root", user),
        () => files.watch(".", user).ready,
      ])
        await assert.rejects(call, { status: 403 }, String(call));

      const watch = files.watch(name, { ...user, ignore: ["*.tmp"] });
      await watch.ready;
      const owner = async (/** @type {string} */ of) => {
        const { uid, gid } = await stat(join(path, of));
        return [uid, gid];
      };
      await files.mkdir(`${name}/d`, user);
      // In one request, and in pieces.
      for (const content of ["small", new Uint8Array(2 * MEGABYTE)]) {
        await files.write(`${name}/d/a`, content, user);
        assert.deepEqual(await owner("d/a"), [65_534, 12]);
        await files.remove(`${name}/d/a`);
      }
      await files.write(`${name}/d/a`, "a", { ...user, append: true });
      await files.copy(`${name}/d`, `${name}/e`, { ...user, recursive: true });
      await files.move(`${name}/e/a`, `${name}/b`, user);
      for (const made of ["d", "e", "b", "d/a"]) assert.deepEqual(await owner(made), [65_534, 12]);
      assert.equal(await files.read(`${name}/b`, user), "a");
      assert.equal((await files.stat(`${name}/b`, user)).size, 1);
      assert.equal((await files.list(`${name}/d`, { ...user, depth: 2 })).length, 1);
      await files.remove(`${name}/d`, { ...user, recursive: true });
      assert.equal(await files.exists(`${name}/d`, user), false);
      const { value } = await watch.next();
      assert.equal(value?.type, "add");
      await watch.return();
      await assert.rejects(files.stat(name, { user: "no-such-user" }), { status: 400 });
    },
  );

  it("are read in part", async () => {
    const { name } = await directory("parts");
    const whole = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
    await files.write(`${name}/f`, whole);
    for (const part of [
      {},
      { offset: 299_999 },
      { offset: 7, length: 70_000 },
      { length: 0 },
      { offset: 1e9 },
    ]) {
      const { offset = 0, length = Infinity } = part;
      const read = await new Response(files.readStream(`${name}/f`, part)).arrayBuffer();
      assert.deepEqual(Buffer.from(read), whole.subarray(offset, offset + length));
    }
  });

  it("are appended to, made new, and given a mode", async () => {
    const { name } = await directory("options");
    const { mode } = await files.write(`${name}/f`, "one", { create: "new", mode: 0o640 });
    assert.equal(mode, 0o640);
    assert.equal((await files.write(`${name}/f`, " two", { append: true })).size, 7);
    assert.equal((await files.write(`${name}/f`, "three")).mode, 0o640);
    await assert.rejects(files.write(`${name}/f`, "", { create: "new" }), { status: 412 });
    assert.equal(await files.read(`${name}/f`), "three");
    await files.write(`${name}/g`, "made", { append: true });
    assert.equal(await files.read(`${name}/g`), "made");
  });

  it("are moved, copied and removed, and refused with the right status", async () => {
    const { name, names } = await directory("changes");
    await files.write(`${name}/a/f`, "1");
    await files.move(`${name}/a/f`, `${name}/b/g`);
    await files.copy(`${name}/b`, `${name}/c`, { recursive: true });
    await assert.rejects(files.copy(`${name}/b`, `${name}/d`), { status: 400 });
    await assert.rejects(files.remove(`${name}/c`), { status: 409 });
    await files.remove(`${name}/a`);
    await files.remove(`${name}/b`, { recursive: true });
    assert.deepEqual(await names(), ["c"]);
    assert.equal(await files.read(`${name}/c/g`), "1");
    await assert.rejects(files.read(`${name}/x`), { status: 404 });
    await assert.rejects(files.remove(`${name}/x`), { status: 404 });
    await assert.rejects(files.stat(`${name}/x`), { status: 404 });
    await assert.rejects(files.move(`${name}/x`, `${name}/y`), { status: 404 });
    assert.equal(await files.exists(`${name}/x`), false);
    await assert.rejects(files.bytes(name), { status: 400 });
    await assert.rejects(files.mkdir(`${name}/c/g`), { status: 409 });
  });

  it("have any name, links and other kinds among them", async () => {
    const { name, path } = await directory("names");
    await sandbox.run(`cd '${path}' && printf odd >"$(printf 'a\\377b')" && mkfifo fifo`);
    await symlink("nowhere", join(path, "link"));
    await files.write(`${name}/ %2F?#é`, "é");
    const listed = await files.list(name);
    const odd = listed.find(({ raw }) => raw !== undefined);
    assert.equal(odd?.name, "a\ufffdb");
    assert.equal(await files.read(/** @type {any} */ (odd)), "odd");
    assert.equal(await files.read({ raw: String(odd?.raw) }), "odd");
    const link = await files.stat(`${name}/link`);
    assert.deepEqual([link.type, link.linkTarget], ["symlink", "nowhere"]);
    await assert.rejects(files.read(`${name}/fifo`), { status: 400 });
    await files.move(/** @type {any} */ (odd), `${name}/even`);
    for (const file of await files.list(name)) await files.remove(file);
    assert.deepEqual(await readdir(path), []);
  });

  describe("from a stream", () => {
    /** @param {number} size in bytes */
    function source(size) {
      const state = { given: 0, isLeft: false };
      async function* pieces() {
        try {
          while (state.given < size) {
            const piece = new Uint8Array(Math.min(256 * 1024, size - state.given)).fill(
              state.given,
            );
            state.given += piece.length;
            yield piece;
          }
        } finally {
          state.isLeft = true;
        }
      }
      return { state, pieces: pieces() };
    }

    it("are read no faster than the agent takes them", async () => {
      const { name } = await directory("backpressure");
      const { state, pieces } = source(24 * MEGABYTE);
      let [ahead, told] = [0, 0];
      const info = await files.write(`${name}/f`, pieces, {
        onProgress({ bytes, total }) {
          ahead = Math.max(ahead, state.given - told);
          told = bytes;
          assert.equal(total, undefined);
        },
      });
      assert.deepEqual([info.size, told], [24 * MEGABYTE, 24 * MEGABYTE]);
      assert(ahead <= 5 * MEGABYTE, `${ahead} bytes`);
    });

    it("leave the old file and nothing else where the source fails, or the caller stops", async () => {
      const { name, names } = await directory("stopped");
      await files.write(`${name}/f`, "old");
      const failed = new Error("the source failed");
      async function* failing() {
        yield new Uint8Array(9 * MEGABYTE);
        throw failed;
      }
      await assert.rejects(files.write(`${name}/f`, failing()), (error) => error === failed);

      const stop = new AbortController();
      const aborted = source(64 * MEGABYTE);
      const reason = new Error("enough");
      const writing = files.write(`${name}/f`, aborted.pieces, {
        signal: stop.signal,
        onProgress: () => stop.abort(reason),
      });
      await assert.rejects(writing, interruptedBy(reason));
      assert(aborted.state.isLeft && aborted.state.given < 16 * MEGABYTE);

      const thrown = source(64 * MEGABYTE);
      const onProgress = () => {
        throw reason;
      };
      const throwing = files.write(`${name}/f`, thrown.pieces, { onProgress });
      await assert.rejects(throwing, (error) => error === reason);
      assert(thrown.state.isLeft);

      // An upload that was given up is removed by a request of its own.
      await until(async () => (await names()).length === 1);
      assert.equal(await files.read(`${name}/f`), "old");
    });
  });

  it("that are changed while they are read are an error, and never a mixture", async () => {
    const { name, path } = await directory("changed");
    await writeFile(join(path, "f"), Buffer.alloc(8 * MEGABYTE, "a"));
    const relay = new Relay(agent.url);
    const url = await relay.listen();
    relay.breakAfter = 2 * MEGABYTE;
    const through = await connect({ ...agent, url });
    /** @type {Uint8Array[]} */
    const read = [];
    let isChanged = false;
    await assert.rejects(
      async () => {
        for await (const chunk of /** @type {any} */ (through.files.readStream(`${name}/f`))) {
          // The agent reads no more for a connection that is broken, and the next one has not begun.
          if (relay.broken === 1 && !isChanged) {
            isChanged = true;
            await writeFile(join(path, "f"), Buffer.alloc(8 * MEGABYTE, "b"));
          }
          read.push(chunk);
        }
      },
      (error) => isSandpipeError(error, "file_changed") && error.path === `${name}/f`,
    );
    assert(Buffer.concat(read).every((byte) => byte === 97));
    await relay.close();
  });

  it(
    "of 200 MB pass through connections that break, in 64 MB of memory",
    { timeout: 120_000 },
    async () => {
      const { name } = await directory("large");
      const relay = new Relay(agent.url);
      const url = await relay.listen();
      relay.breakAfter = 30 * MEGABYTE;
      relay.breakAfterSent = 33 * MEGABYTE;
      const script = join(import.meta.dirname, "transfer-file.mjs");
      const options = JSON.stringify({
        url,
        token: agent.token,
        path: `${name}/f`,
        size: 200 * MEGABYTE,
      });
      const { stdout } = await promisify(execFile)(process.execPath, [
        "--expose-gc",
        script,
        options,
      ]);
      const { sent, received, growth } = JSON.parse(stdout);
      assert.equal(received, sent);
      assert(growth < 64 * MEGABYTE, `${growth} bytes`);
      assert(relay.broken >= 12, `${relay.broken} were broken`);
      await relay.close();
    },
  );
});
