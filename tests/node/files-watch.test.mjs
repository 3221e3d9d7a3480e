// Watching directories of a real agent.
import assert from "node:assert/strict";
import { appendFile, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";

import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { Relay } from "../support/relay.mjs";
import { interruptedBy } from "../support/interrupted.mjs";

describe("files.watch", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {import("sandpipe").Files} */
  let files;
  /** @type {string} */
  let workspace;
  let directories = 0;
  /** @type {string} */
  let directory;

  before(async () => {
    workspace = await mkdtemp(join(tmpdir(), "sandpipe-watch-"));
    agent = await startAgent({ args: ["--workspace", workspace] });
    ({ files } = await connect(agent));
  });
  after(async () => {
    await agent.stop();
    await rm(workspace, { recursive: true });
  });
  beforeEach(async () => {
    directory = join(workspace, `d${(directories += 1)}`);
    await mkdir(directory);
  });

  /**
   * Reads up to a change of this kind to this name.
   *
   * @param {AsyncIterable<import("sandpipe").FileChange>} changes
   * @param {string} type
   * @param {string} name
   */
  async function upTo(changes, type, name) {
    const seen = [];
    for await (const change of unended(changes)) {
      seen.push(`${change.type} ${change.path.slice(directory.length + 1)}`);
      if (change.type === type && change.path === join(directory, name)) return { change, seen };
    }
    throw new Error(`it ended after ${seen.join(", ")}`);
  }

  /** Without the end that leaving a loop brings. @template T @param {AsyncIterable<T>} all */
  function unended(all) {
    const iterator = all[Symbol.asyncIterator]();
    return { [Symbol.asyncIterator]: () => ({ next: () => iterator.next() }) };
  }

  it("tells what comes, changes, is renamed and goes, from `ready` on", async () => {
    const changes = files.watch(directory);
    await changes.ready;
    await writeFile(join(directory, "a"), "1");
    await upTo(changes, "add", "a");
    await appendFile(join(directory, "a"), "2");
    await upTo(changes, "change", "a");
    await rename(join(directory, "a"), join(directory, "b"));
    const { change } = await upTo(changes, "rename", "a");
    assert.equal(change.to, join(directory, "b"));
    await rm(join(directory, "b"));
    await upTo(changes, "remove", "b");
    await changes.return();
    assert.deepEqual(await changes.next(), { done: true, value: undefined });
  });

  it("is recursive where it is asked for, and leaves out what is ignored", async () => {
    const changes = files.watch(directory, { recursive: true, ignore: ["node_modules", "*.log"] });
    await changes.ready;
    await mkdir(join(directory, "x/node_modules"), { recursive: true });
    await writeFile(join(directory, "x/node_modules/ignored"), "");
    await writeFile(join(directory, "x/a.log"), "");
    await writeFile(join(directory, "x/last"), "");
    const { seen } = await upTo(changes, "add", "x/last");
    assert(seen.includes("add x"), seen.join());
    assert(!seen.some((change) => /node_modules|log/.test(change)), seen.join());
    await changes.return();
  });

  it("has names that are not UTF-8", async () => {
    const changes = files.watch(directory);
    await changes.ready;
    const name = (/** @type {number} */ byte) =>
      Buffer.concat([Buffer.from(`${directory}/x`), Buffer.of(byte)]);
    await writeFile(name(0xff), "content");
    const { change } = await upTo(changes, "add", "x\uFFFD");
    assert.equal(change.raw, `${directory}/x%FF`);
    assert.equal(await files.read(change), "content");
    await rename(name(0xff), name(0xfe));
    const { change: renamed } = await upTo(changes, "rename", "x\uFFFD");
    assert.deepEqual([renamed.raw, renamed.rawTo], [`${directory}/x%FF`, `${directory}/x%FE`]);
    await changes.return();
  });

  it("says that changes may have been missed when the connection broke", async () => {
    const relay = new Relay(agent.url);
    const { files: through } = await connect({ ...agent, url: await relay.listen() });
    const changes = through.watch(directory);
    await changes.ready;
    relay.breakAll();
    const { value } = await changes.next();
    assert.deepEqual([value?.type, value?.path], ["overflow", directory]);
    await writeFile(join(directory, "after"), "");
    await upTo(changes, "add", "after");
    await changes.return();
    await relay.close();
  });

  it("ends by a signal, by the end of the directory, and where there is none", async () => {
    const stop = new AbortController();
    const changes = files.watch(directory, { signal: stop.signal });
    await changes.ready;
    const reason = new Error("enough");
    const next = changes.next();
    stop.abort(reason);
    await assert.rejects(next, interruptedBy(reason));
    const aborted = files.watch(directory, { signal: stop.signal });
    await assert.rejects(aborted.ready, interruptedBy(reason));

    const watched = files.watch(directory);
    await watched.ready;
    await rm(directory, { recursive: true });
    await assert.rejects(upTo(watched, "overflow", "never"), {
      code: "watch_ended",
      path: directory,
    });

    const missing = files.watch(directory);
    await assert.rejects(missing.ready, { status: 404 });
    await assert.rejects(missing.next(), { status: 404 });
  });
});
