// Files of an agent that has the base interface alone.
import assert from "node:assert/strict";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";

import { connect, isSandpipeError } from "sandpipe";

import { baseFiles } from "../support/base-files.mjs";
import { httpServers } from "../support/http-servers.mjs";

describe("files of an agent without extensions", () => {
  const { serve } = httpServers();
  /** @type {string} */
  let workspace;
  /** @type {import("sandpipe").Files} */
  let files;
  /** @type {string[]} */
  let requests;

  beforeEach(async () => {
    workspace = await mkdtemp(join(tmpdir(), "sandpipe-base-files-"));
    requests = [];
    const answer = baseFiles(workspace);
    const url = await serve((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      answer(request, response);
    });
    ({ files } = await connect({ url, retry: { maxAttempts: 1 } }));
  });
  afterEach(() => rm(workspace, { recursive: true }));

  it("are written and read whole: text, bytes, Unicode, nothing", async () => {
    const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => index * 7);
    const long = "a€😀\n".repeat(200_000);
    for (const [name, content] of Object.entries({ text: "a€😀\n", empty: "", bytes, long })) {
      const info = await files.write(name, content);
      assert.equal(info.size, Buffer.from(content).length, name);
      assert.deepEqual(await readFile(join(workspace, name)), Buffer.from(content));
      assert.deepEqual(Buffer.from(await files.bytes(info)), Buffer.from(content));
      if (typeof content === "string") assert.equal(await files.read(name), content);
    }
    await assert.rejects(files.read("bytes"), (error) => {
      assert(isSandpipeError(error, "not_text"));
      assert.match(error.message, /"bytes" is not UTF-8.*files\.bytes\(\)/);
      return true;
    });
  });

  it("are written from streams and Blobs, and read as streams, in part as well", async () => {
    const parts = ["a".repeat(100_000), "€".repeat(100_000)];
    const whole = Buffer.from(parts.join(""));
    await files.write("stream", new Blob(parts).stream());
    await files.write("blob", new Blob(parts));
    for (const name of ["stream", "blob"]) {
      assert.deepEqual(await readFile(join(workspace, name)), whole);
      for (const part of [{}, { offset: 5 }, { offset: 99_999, length: 7 }, { offset: 1e6 }]) {
        const { offset = 0, length = Infinity } = part;
        const read = await new Response(files.readStream(name, part)).arrayBuffer();
        assert.deepEqual(Buffer.from(read), whole.subarray(offset, offset + length), name);
      }
    }
  });

  it("are listed, looked at, moved, copied and removed", async () => {
    await files.mkdir("d/e");
    await files.write("d/one", "1");
    await files.move("d/one", "d/two");
    await files.copy("d/two", "d/e/three");
    assert.deepEqual(
      (await files.list("d")).map(({ name, isDir, size }) => [name, isDir || size]),
      [
        ["e", true],
        ["two", 1],
      ],
    );
    assert.equal((await files.stat("d")).isDir, true);
    assert.equal(await files.exists("d/one"), false);
    await assert.rejects(files.remove("d"), { status: 409, message: /"d" is not empty/ });
    await files.remove("d/two");
    await files.remove("d", { recursive: true });
    await files.mkdir("empty");
    await files.remove("empty");
    assert.deepEqual(await readdir(workspace), []);
    await assert.rejects(files.remove("empty"), { status: 404 });
    await assert.rejects(files.read("empty"), { status: 404, operation: "read file" });
  });

  it("take any path, as one that URLs leave alone", async () => {
    await writeFile(join(workspace, "%2e ?#é"), "odd");
    assert.equal(await files.read("%2e ?#é"), "odd");
    assert.equal(await files.read(`${workspace}/./x/..//%2e ?#é`), "odd");
    assert.equal(await files.read({ raw: "%252e%20%3F%23%C3%A9" }), "odd");
    assert((await files.stat(".")).isDir);
    for (const wrong of ["a\0b", { raw: "%" }, { raw: "%00" }, 7, {}, "\ud800"]) {
      await assert.rejects(files.read(/** @type {any} */ (wrong)), { code: "invalid_argument" });
    }
  });

  it("say what needs an extension, and ask for none", async () => {
    for (const options of [{ append: true }, { create: "new" }, { mode: 0o600 }]) {
      await assert.rejects(files.write("x", "y", /** @type {any} */ (options)), {
        code: "unsupported",
        feature: "files-raw",
      });
    }
    await assert.rejects(files.list(".", { depth: 2 }), { feature: "files-raw" });
    const user = { user: "nobody" };
    for (const call of [
      () => files.read("x", user),
      () => files.readStream("x", user).getReader().read(),
      () => files.write("x", "y", user),
      () => files.list(".", user),
      () => files.stat("x", user),
      () => files.exists("x", user),
      () => files.mkdir("x", user),
      () => files.remove("x", user),
      () => files.move("x", "y", user),
      () => files.copy("x", "y", user),
      () => files.watch(".", user).ready,
    ])
      await assert.rejects(call, { code: "unsupported", feature: "files-raw" }, String(call));
    const large = files.write("x", new Uint8Array(16 * 1024 * 1024 + 1));
    await assert.rejects(large, { feature: "files-raw" });
    assert.deepEqual(await readdir(workspace), []);
    assert(requests.every((request) => !request.includes("?")));
  });
});
