// streamOutput() and streamList() as async iterators.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";

import { ClosedError, connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { until } from "../support/processes.mjs";
import { interruptedBy } from "../support/interrupted.mjs";

/** Of an output, and of the list. */
const STREAM_TYPES = ["application/vnd.sandpipe.output", "text/event-stream"];

describe("streams", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {import("sandpipe").Execs} */
  let execs;
  /** How many connections to streams are open. */
  let open = 0;

  /** A fetch that counts the streams that are open.
   * @type {typeof fetch} */
  const counting = async (input, init) => {
    const response = await fetch(input, init);
    const type = response.headers.get("content-type") ?? "";
    if (!STREAM_TYPES.includes(type)) return response;
    open++;
    let isOpen = true;
    const closed = () => {
      if (isOpen) open--;
      isOpen = false;
    };
    init?.signal?.addEventListener("abort", closed, { once: true });
    const body = response.body?.pipeThrough(new TransformStream({ flush: closed }));
    return new Response(body, response);
  };

  /** @param {string} script */
  const create = (script) => execs.create({ command: "sh", args: ["-c", script] });

  before(async () => {
    agent = await startAgent();
    ({ execs } = await connect({ ...agent, fetch: counting }));
  });
  afterEach(async () => {
    for (const exec of await execs.list()) await execs.delete(exec.id);
    // An answer that has said all is read to its end.
    await until(() => open === 0);
  });
  after(() => agent.stop());

  it("yields each event once, in order, the last with the exit code", async () => {
    const { id } = await create("for i in 1 2 3; do echo $i; done; exit 5");
    const events = [];
    for await (const event of execs.streamOutput(id)) events.push(event);
    assert.equal(events.map((event) => event.output).join(""), "1\n2\n3\n");
    assert.deepEqual(
      events.map((event) => event.sequence),
      events.map((_, index) => index + 1),
    );
    assert.deepEqual(
      events.map((event) => event.exitCode),
      [...events.slice(1).map(() => undefined), 5],
    );
  });

  it("yields an event when it happens, not when the command ends", async () => {
    const { id } = await create("echo first; read go; echo second");
    const outputs = [];
    for await (const { output } of execs.streamOutput(id)) {
      outputs.push(output);
      if (output === "first\n") await execs.sendStdin(id, { type: "stdin", input: "go\n" });
    }
    assert.equal(outputs.join(""), "first\nsecond\n");
  });

  it("can be awaited before it is iterated", async () => {
    const { id } = await create("echo a");
    let output = "";
    for await (const event of await execs.streamOutput(id)) output += event.output;
    assert.equal(output, "a\n");
  });

  it("goes on after lastSequence, also for readers that come after the end", async () => {
    const { id } = await create("for i in 1 2 3; do echo $i; read go; done");
    const all = [];
    for await (const event of execs.streamOutput(id)) {
      all.push(event);
      if (event.exitCode === undefined) await execs.sendStdin(id, { input: "\n" });
    }
    for (let last = 0; last < all.length; last++) {
      const rest = [];
      for await (const event of execs.streamOutput(id, last)) rest.push(event);
      assert.deepEqual(rest, all.slice(last));
      const newest = [];
      for await (const event of execs.streamOutput(id, last - all.length)) newest.push(event);
      assert.deepEqual(newest, all.slice(last));
    }
  });

  it("closes the connection and leaves the process when the loop is left early", async () => {
    const { id } = await create("echo a; read go; exit 6");
    for await (const { output } of execs.streamOutput(id)) {
      assert.equal(output, "a\n");
      assert.equal(open, 1);
      break;
    }
    assert.equal(open, 0);
    assert.equal((await execs.get(id)).status, "RUNNING");
    await execs.sendStdin(id, { input: "\n" });
    assert.equal((await execs.wait(id)).exitCode, 6);
    await until(() => open === 0);
  });

  it("makes no connection before it is read, nor after it was left", async () => {
    const { id } = await create("echo a");
    const stream = execs.streamOutput(id);
    assert.equal(open, 0);
    assert.deepEqual(await stream.return?.(), { done: true, value: undefined });
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
    assert.equal(open, 0);
  });

  it("answers calls of next that don't wait for each other in order", async () => {
    const { id } = await create("for i in 1 2 3 4; do echo $i; read go; done");
    const stream = execs.streamOutput(id);
    const results = [1, 2, 3, 4, 5].map(() => stream.next());
    for (const result of results) {
      // Each piece of output is waited for before the next one is asked of the command.
      if ((await result).value?.exitCode === undefined) await execs.sendStdin(id, { input: "\n" });
    }
    const outputs = (await Promise.all(results)).map(({ value }) => value?.output);
    assert.deepEqual(outputs, ["1\n", "2\n", "3\n", "4\n", ""]);
    assert.equal((await stream.next()).done, true);
  });

  it("ends with the reason of an aborted signal", async () => {
    const { id } = await create("echo a; read go");
    const controller = new AbortController();
    const reason = new Error("enough");
    const read = async () => {
      for await (const _ of execs.streamOutput(id, 0, { signal: controller.signal })) {
        setImmediate(() => controller.abort(reason));
      }
    };
    await assert.rejects(read(), interruptedBy(reason));
    assert.equal(open, 0);
    await assert.rejects(read(), interruptedBy(reason), "aborted before it begins");
    assert.equal((await execs.get(id)).status, "RUNNING");
  });

  it("tells of every change of the list", async () => {
    const controller = new AbortController();
    const lists = execs.streamList({ signal: controller.signal });
    assert.deepEqual((await lists.next()).value, { execs: [] });
    const { id } = await create("read go");
    /** @param {string} status */
    const until = async (status) => {
      for (;;) {
        const { value, done } = await lists.next();
        assert.ok(!done, "the list ended");
        if (value.execs[0]?.id === id && value.execs[0].status === status) return value.execs[0];
      }
    };
    await until("RUNNING");
    await execs.sendStdin(id, { input: "\n" });
    assert.equal((await until("EXITED")).exitCode, 0);
    await execs.delete(id);
    assert.deepEqual((await lists.next()).value, { execs: [] });
    await lists.return?.();
    assert.equal(open, 0);
  });

  it("rejects what is under way when the sandbox is closed, and what comes after", async () => {
    const { id } = await create("read go");
    const sandbox = await connect({ ...agent, fetch: counting });
    const waiting = sandbox.execs.wait(id);
    const reading = sandbox.execs.streamOutput(id).next();
    await until(() => open === 2);
    sandbox.close();
    await assert.rejects(waiting, ClosedError);
    await assert.rejects(reading, ClosedError);
    await assert.rejects(sandbox.execs.list(), ClosedError);
    assert.equal(open, 0);
    assert.equal((await execs.get(id)).status, "RUNNING");
  });

  it("refuses a create once it is closed, and says that nothing was run", async () => {
    const sandbox = await connect(agent);
    await sandbox.execs.list();
    await sandbox.execs.exec("true");
    sandbox.close();
    const request = { command: "true", args: [] };
    await assert.rejects(sandbox.execs.create(request), ClosedError);
    await assert.rejects(sandbox.execs.exec("true"), ClosedError);
  });
});
