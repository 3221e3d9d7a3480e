// Scoped tokens: what a client may do with one, and how it learns of its end.
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { connect, isSandpipeError } from "sandpipe";
import { startAgent } from "sandpipe/node";
import { until } from "../support/processes.mjs";
import { Relay } from "../support/relay.mjs";

const MINUTE = 60_000;

describe("scoped tokens", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {import("sandpipe").Sandbox} */
  let sandbox;
  /** @type {string} */
  let workspace;

  before(async () => {
    workspace = await realpath(await mkdtemp(join(tmpdir(), "sandpipe-tokens-")));
    await mkdir(join(workspace, "dir"));
    await writeFile(join(workspace, "dir/file"), "text");
    await writeFile(join(workspace, "secret"), "secret");
    agent = await startAgent({ workspace });
    sandbox = await connect(agent);
  });
  after(async () => {
    sandbox.close();
    await agent.stop();
    await rm(workspace, { recursive: true });
  });

  /** A client with a scoped token. @param {Omit<import("sandpipe").CreateTokenOptions, "expiresInMs">} scopes */
  async function scoped(scopes) {
    const created = await sandbox.tokens.create({ expiresInMs: MINUTE, ...scopes });
    return { ...created, client: await connect({ url: agent.url, token: created.token }) };
  }

  /** @param {number} status @param {RegExp} [message] */
  const http = (status, message) => (/** @type {unknown} */ error) =>
    isSandpipeError(error, "http") &&
    error.status === status &&
    (message?.test(error.message) ?? true);

  it("are created, listed and revoked", async () => {
    const { id } = await sandbox.execs.create({ command: "true" });
    const one = await scoped({ readExecs: [id], readFiles: "dir" });
    const two = await scoped({ createCommands: true });
    assert.match(one.token, /^sandpipe_[0-9a-f]{64}$/);
    const listed = await sandbox.tokens.list();
    assert.deepEqual(
      listed.map((token) => token.id),
      [two.id, one.id],
    );
    const { createdAt, ...rest } = listed.find((token) => token.id === one.id) ?? assert.fail();
    assert.deepEqual(rest, {
      id: one.id,
      expiresAt: one.expiresAt,
      readExecs: [id],
      readFiles: join(workspace, "dir"),
    });
    assert.equal(Date.parse(one.expiresAt) - Date.parse(createdAt), MINUTE);
    await sandbox.tokens.revoke(one.id);
    await assert.rejects(one.client.execs.get(id), http(401));
    await assert.rejects(sandbox.tokens.revoke(one.id), http(404));
    await assert.rejects(
      two.client.tokens.create({ expiresInMs: 1, createCommands: true }),
      http(403),
    );
    await sandbox.tokens.revoke(two.id);
    assert.deepEqual(await sandbox.tokens.list(), []);
  });

  it("do what the client can with the execs that they create", async () => {
    const { id, client } = await scoped({ createCommands: true });
    const { exitCode, output } = await client.execs.exec("sh", ["-c", "cat; exit 3"], {
      input: "in",
    });
    assert.deepEqual([exitCode, output], [3, "in"]);
    const session = await client.sessions.create();
    assert.equal((await session.run("x=1; echo $x")).output, "1\n");
    await session.close();
    const running = await client.execs.create({ command: "sleep", args: ["60"] });
    await client.execs.terminate(running.id);
    await sandbox.tokens.revoke(id);
  });

  it("read and write files below their directory", async () => {
    const { id, client } = await scoped({ readFiles: "dir", writeFiles: "dir" });
    assert.equal(await client.files.read("dir/file"), "text");
    await client.files.write("dir/sub/new", "new");
    assert.equal(await client.files.read(join(workspace, "dir/sub/new")), "new");
    for (const path of ["secret", join(workspace, "secret"), "/etc/hostname"]) {
      await assert.rejects(client.files.read(path), http(403, /is not below/), path);
      await assert.rejects(client.files.write(path, "x"), http(403, /is not below/), path);
    }
    await sandbox.tokens.revoke(id);
  });

  it("end what a client follows, with an error, when they are revoked", async () => {
    const { id: exec } = await sandbox.execs.create({
      command: "sh",
      args: ["-c", "echo up; read x"],
    });
    const { id, client } = await scoped({ typeInto: [exec] });
    /** @param {AsyncIterable<unknown>} events @param {() => void} begun */
    const follow = async (events, begun) => {
      for await (const _ of events) begun();
    };
    // The exec is told with it, since it may still run.
    const ended = (/** @type {unknown} */ error) =>
      isSandpipeError(error, "exit_code_missing") &&
      error.execId === exec &&
      http(401)(error.cause);
    const ends = await Promise.all(
      [client.execs.streamOutput(exec), await client.execs.attach(exec)].map(async (events) => {
        const begun = new EventEmitter();
        const hasBegun = once(begun, "begun");
        const end = assert.rejects(
          follow(events, () => begun.emit("begun")),
          ended,
        );
        await hasBegun;
        return { end };
      }),
    );
    await sandbox.tokens.revoke(id);
    await Promise.all(ends.map(({ end }) => end));
    await assert.rejects(client.execs.sendStdin(exec, "x\n"), http(401));
    await sandbox.execs.terminate(exec);
  });

  it("are created and revoked once where the answer is lost", async () => {
    const relay = new Relay(agent.url);
    const relayed = await connect({ url: await relay.listen(), token: agent.token });
    /** @param {() => Promise<unknown>} call */
    const withoutAnswer = async (call) => {
      const { broken } = relay;
      relay.breakAfter = 0;
      const mended = until(() => relay.broken > broken).then(() => (relay.breakAfter = Infinity));
      await call().finally(() => mended);
    };
    assert.deepEqual(await relayed.tokens.list(), []);
    const create = () => relayed.tokens.create({ expiresInMs: MINUTE, createCommands: true });
    await assert.rejects(withoutAnswer(create), (error) => isSandpipeError(error, "network"));
    const [created, ...others] = await sandbox.tokens.list();
    assert(created !== undefined && others.length === 0);
    await withoutAnswer(() => relayed.tokens.revoke(created.id));
    assert.deepEqual(await sandbox.tokens.list(), []);
    relayed.close();
    await relay.close();
  });

  it("are refused where an argument is wrong, without showing what may be a token", async () => {
    const { token } = await scoped({ createCommands: true });
    await assert.rejects(sandbox.tokens.revoke(token), (error) => {
      assert(isSandpipeError(error, "invalid_argument"));
      return !error.message.includes(token);
    });
    // @ts-expect-error It is no scope.
    const wrong = sandbox.tokens.create({ expiresInMs: 1, readExec: ["x"] });
    await assert.rejects(wrong, /readExecs/);
    for (const options of [{ expiresInMs: 0, createCommands: true }, { createCommands: true }]) {
      const created = sandbox.tokens.create(/** @type {any} */ (options));
      await assert.rejects(created, /expiresInMs/);
    }
    await assert.rejects(sandbox.tokens.create({ expiresInMs: MINUTE }), http(400, /no scope/));
  });
});
