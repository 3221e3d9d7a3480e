// streamList() with an agent that tells what has changed, and with one that does not.
import assert from "node:assert/strict";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";

import { connect, ProtocolError } from "sandpipe";
import { startAgent } from "sandpipe/node";
import { holdTimers } from "../support/held-timers.mjs";
import { temporaryFolder } from "../support/installed-package.mjs";
import { idsOfAgent, until as eventually } from "../support/processes.mjs";
import { RestartableAgent } from "../support/restartable-agent.mjs";

/** @typedef {import("sandpipe").ExecItem} ExecItem */

/**
 * Reads lists until one is as it should be.
 * @param {AsyncIterableIterator<{ execs: ExecItem[] }>} lists
 * @param {(execs: ExecItem[]) => boolean} isRight
 */
async function until(lists, isRight) {
  for (;;) {
    const { value, done } = await lists.next();
    assert.ok(!done, "the list ended");
    if (isRight(value.execs)) return value.execs;
  }
}

/** Stops the clock of the client. @param {import("node:test").TestContext} t */
function stopClock(t) {
  const timers = holdTimers(500);
  t.after(() => timers.restore());
  /** @param {number} ms */
  return async function pass(ms) {
    timers.pass(ms);
    // What has come, and what is due, has been taken note of then.
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  };
}

/** Whether something has settled. @param {Promise<unknown>} promise */
function settling(promise) {
  const state = { isOver: false };
  const end = () => void (state.isOver = true);
  promise.then(end, end);
  return state;
}

for (const [name, args] of /** @type {const} */ ([
  ["an agent that tells what has changed", []],
  ["one that does not", ["--without", "list-changes"]],
])) {
  describe(`streamList with ${name}`, () => {
    /** @type {Awaited<ReturnType<typeof startAgent>>} */
    let agent;
    /** @type {import("sandpipe").Execs} */
    let execs;
    /** The paths of what was asked. @type {string[]} */
    const asked = [];
    /** Ends the stream of the list. @type {(() => void) | undefined} */
    let cut;

    /** A fetch that notes what was asked, and whose stream of the list can be cut. @type {typeof fetch} */
    const cutting = async (input, init) => {
      const { pathname, search } = new URL(String(input));
      asked.push(pathname + search);
      const response = await fetch(input, init);
      if (pathname !== "/api/v1/stream/execs" || response.body === null) return response;
      const { readable, writable } = new TransformStream();
      const stop = new AbortController();
      cut = () => stop.abort();
      response.body.pipeTo(writable, { signal: stop.signal }).catch(() => {});
      return new Response(readable, { headers: response.headers });
    };

    before(async () => {
      agent = await startAgent({ args });
      ({ execs } = await connect({ ...agent, fetch: cutting }));
    });
    after(() => agent.stop());

    it("has the list as the agent has it, after each change and after a reconnect", async () => {
      const lists = execs.streamList();
      for (let i = 0; i < 5; i++) await execs.exec("true");
      const first = await until(lists, (list) => list.length === 5 && list.every(hasEnded));
      assert.deepEqual(first, await execs.list());

      const { id } = await execs.create({ command: "sh", args: ["-c", "read go; exit 3"] });
      const second = await until(lists, ([newest]) => newest?.status === "RUNNING");
      assert.equal(second[0]?.id, id);
      assert.deepEqual(second.slice(1), first);
      assert.equal(first.length, 5, "a list is the caller's own");

      cut?.();
      await execs.sendStdin(id, { input: "\n" });
      const third = await until(lists, ([newest]) => newest?.exitCode === 3);
      assert.deepEqual(third, await execs.list());

      const gone = /** @type {ExecItem} */ (third[2]);
      await execs.delete(gone.id);
      const fourth = await until(lists, (list) => list.length === 5);
      assert.deepEqual(
        fourth,
        third.filter((exec) => exec !== gone),
      );
      await lists.return?.();
      assert.equal(asked.filter((path) => path === "/health").length, 1);
    });

    it("has all of what happens while nobody reads it", async () => {
      const lists = execs.streamList();
      await lists.next();
      const ids = [];
      for (let i = 0; i < 50; i++) {
        const { id } = await execs.create({ command: "sh", args: ["-c", `exit ${i}`] });
        await execs.wait(id);
        ids.unshift(id);
      }
      for (const id of ids.splice(10, 20)) await execs.delete(id);
      const expected = await execs.list();
      const same = (/** @type {ExecItem[]} */ list) =>
        JSON.stringify(list) === JSON.stringify(expected);
      assert.ok(same(await until(lists, same)));
      await lists.return?.();
    });
  });
}

/** @param {ExecItem} exec */
const hasEnded = ({ status }) => status === "EXITED";

describe("streamList over changes", () => {
  it("keeps the objects of what has not changed", async () => {
    const agent = await startAgent();
    const { execs } = await connect(agent);
    for (let i = 0; i < 3; i++) await execs.exec("true");
    const lists = execs.streamList();
    const before = await until(lists, (list) => list.length === 3);
    await execs.exec("true");
    const later = await until(lists, (list) => list.length === 4 && list.every(hasEnded));
    for (const [index, exec] of before.entries()) assert.equal(later[index + 1], exec);
    await lists.return?.();
    await agent.stop();
  });

  it("ends where the agent is silent for longer than it may be, and goes on where it is merely busy", async (t) => {
    const agent = await startAgent();
    t.after(() => agent.stop());
    /** How many pieces of streams have come, signs of life among them. */
    let pieces = 0;
    const { execs } = await connect({
      ...{ ...agent, retry: { shouldRetry: () => false } },
      fetch: async (input, init) => {
        const answer = await fetch(input, init);
        const counting = new TransformStream({
          transform(piece, controller) {
            pieces += 1;
            controller.enqueue(piece);
          },
        });
        return new Response(answer.body?.pipeThrough(counting) ?? null, answer);
      },
    });
    const pass = stopClock(t);
    const lists = execs.streamList({ maxSilenceMs: 900 });
    assert.deepEqual((await lists.next()).value, { execs: [] });
    // Its commands take what processors there are.
    const { id } = await execs.create({
      command: "sh",
      args: ["-c", "for i in 1 2 3 4; do while :; do :; done & done; wait"],
    });
    await until(lists, (list) => list.length === 1 && list[0]?.status === "RUNNING");
    const next = lists.next();
    const busy = settling(next);
    // Nothing changes for several times as long as it may be silent.
    for (let signs = 0; signs < 4; signs += 1) {
      const before = pieces;
      await eventually(() => pieces > before);
      await pass(850);
      assert.equal(busy.isOver, false);
    }
    await execs.kill(id, "SIGKILL");
    const isStopped = (/** @type {ExecItem[]} */ list) => list[0]?.status === "STOPPED";
    if (!isStopped((await next).value.execs)) await until(lists, isStopped);

    await lists.return?.();

    const { agent: pid } = await idsOfAgent((script) => execs.exec("sh", ["-c", script]));
    const short = execs.streamList({ maxSilenceMs: 3_000 });
    await until(short, (list) => list.length === 2 && list[0]?.status === "EXITED");
    process.kill(Number(pid), "SIGSTOP");
    try {
      const ended = short.next();
      const silent = settling(ended);
      await pass(2_900);
      assert.equal(silent.isOver, false, "it was not waited for");
      // A sign of life may have been on its way.
      await eventually(async () => {
        await pass(3_000);
        return silent.isOver;
      });
      await assert.rejects(ended, { code: "network", message: /nothing came for 3000 ms/ });
    } finally {
      process.kill(Number(pid), "SIGCONT");
    }
    await assert.rejects(
      // @ts-expect-error
      execs.streamList({ maxSilenceMs: "long" }).next(),
      /`options.maxSilenceMs`/,
    );
  });

  it("does without signs of life where the agent that comes in the place of another has none", async (t) => {
    const agent = new RestartableAgent(await temporaryFolder());
    await agent.start();
    t.after(async () => {
      await agent.stop();
      await rm(agent.folder, { recursive: true });
    });
    /** The paths of what was asked. @type {string[]} */
    const asked = [];
    const { execs } = await connect({
      url: agent.url,
      token: agent.token,
      // For as long as it takes an agent to start.
      retry: { maxAttempts: 1000, maxDelayMs: 50 },
      fetch: (input, init) => {
        const { pathname, search } = new URL(String(input));
        asked.push(pathname + search);
        return fetch(input, init);
      },
    });
    const pass = stopClock(t);
    const lists = execs.streamList({ maxSilenceMs: 600 });
    assert.deepEqual((await lists.next()).value, { execs: [] });
    const next = lists.next();
    const silent = settling(next);
    await agent.kill();
    await agent.start(["--without", "heartbeat"]);
    const isWithout = (/** @type {string} */ path) => path === "/api/v1/stream/execs?changes=true";
    // It asks what the agent can do once it was silent.
    await eventually(async () => {
      await pass(600);
      return asked.some(isWithout);
    });
    const count = asked.length;
    for (let times = 0; times < 5; times += 1) await pass(600);
    assert.deepEqual([silent.isOver, asked.length], [false, count]);
    const { id } = await execs.create({ command: "true", args: [] });
    assert.equal((await next).value.execs[0]?.id, id);
    await lists.return?.();
  });

  it("has the order of the agent's list, whatever a change brings, and refuses what makes no sense", async () => {
    const item = (/** @type {string} */ id, status = "EXITED") => ({
      ...{ id, command: "x", args: [], status, pid: 1, pty: false, exitCode: 0 },
    });
    const events = [
      { execs: [item("c"), item("b"), item("a")] },
      { changed: [item("e"), item("d"), item("b", "STOPPED")], removed: ["c", "unknown"] },
      { changed: [], removed: ["a", "e"] },
      { changed: "nonsense", removed: [] },
    ];
    /** @type {import("node:http").ServerResponse | undefined} */
    let stream;
    const server = createServer((request, response) => {
      if (request.url === "/health") {
        const health = { agent: "x", version: "1", features: ["list-changes"] };
        response.setHeader("content-type", "application/json").end(JSON.stringify(health));
        return;
      }
      assert.equal(request.url, "/api/v1/stream/execs?changes=true");
      stream = response.setHeader("content-type", "text/event-stream");
      stream.flushHeaders();
      send();
    });
    const send = () => stream?.write(`data: ${JSON.stringify(events.shift())}\n\n`);
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    const sandbox = await connect({ url: `http://127.0.0.1:${port}` });
    const lists = sandbox.execs.streamList();
    const ids = async () => {
      const { value } = await lists.next();
      return /** @type {{ execs: ExecItem[] }} */ (value).execs.map(({ id, status }) =>
        status === "EXITED" ? id : `${id} ${status}`,
      );
    };
    assert.deepEqual(await ids(), ["c", "b", "a"]);
    send();
    assert.deepEqual(await ids(), ["e", "d", "b STOPPED", "a"]);
    send();
    assert.deepEqual(await ids(), ["d", "b STOPPED"]);
    send();
    await assert.rejects(lists.next(), ProtocolError);
    sandbox.close();
    server.closeAllConnections();
    server.close();
  });
});
