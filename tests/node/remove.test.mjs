// execs.remove(): what has ended goes.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";

import { connect, HttpError, InvalidArgumentError } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { until } from "../support/processes.mjs";

describe("remove", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {import("sandpipe").Execs} */
  let execs;

  before(async () => {
    agent = await startAgent();
    ({ execs } = await connect(agent));
  });
  afterEach(async () => {
    for (const { id } of await execs.list()) await execs.delete(id);
  });
  after(() => agent.stop());

  /** Runs some commands to their ends, and gives their ids. @param {number} count */
  async function run(count) {
    const ids = [];
    for (let i = 0; i < count; i++) {
      const { id } = await execs.create({ command: "true", args: [] });
      await execs.wait(id);
      ids.push(id);
    }
    return ids;
  }
  const ids = async () => (await execs.list()).map(({ id }) => id).reverse();

  it("removes all that has ended, and nothing else", async () => {
    const { id: runs } = await execs.create({ command: "sleep", args: ["1000"] });
    const { id: waits } = await execs.create({ command: "true", args: [], autostart: false });
    const ended = await run(30);
    assert.deepEqual((await execs.remove()).sort(), ended.sort());
    assert.deepEqual(await ids(), [runs, waits]);
    assert.deepEqual(await execs.remove({}), []);
  });

  it("leaves what has a process left, which a delete would kill", async () => {
    const script = "sleep 1000 & echo $!";
    const { id } = await execs.create({ command: "sh", args: ["-c", script] });
    const { output } = await execs.wait(id);
    const ended = await run(2);
    assert.deepEqual((await execs.remove()).sort(), ended.sort());
    assert.deepEqual(await ids(), [id]);
    // It is asked, and lives.
    process.kill(Number(output), 0);
    process.kill(Number(output), "SIGKILL");
    await until(async () => (await execs.remove()).includes(id));
  });

  it("keeps the last to end, or what ended since a time", async () => {
    const ended = await run(5);
    await execs.remove({ keep: 4 });
    assert.deepEqual(await ids(), ended.slice(1));
    const { endedAt = "" } = await execs.get(ended[3] ?? "");
    const then = new Date(endedAt);
    assert.deepEqual(await execs.remove({ endedBefore: new Date(0) }), []);
    const removed = await execs.remove({ endedBefore: then });
    assert.ok(removed.includes(ended[1] ?? "") && !removed.includes(ended[3] ?? ""));
    assert.deepEqual(
      await ids(),
      ended.slice(1).filter((id) => !removed.includes(id)),
    );
    assert.deepEqual(await execs.remove({ endedBefore: then.getTime(), keep: 9 }), []);
    await execs.remove({ endedBefore: "2999-01-01T00:00:00Z" });
    assert.deepEqual(await ids(), []);
  });

  it("takes it for done where somebody else is faster, and tells what can't be done", async () => {
    const ended = await run(3);
    /** What the agent answers to a delete. @type {Response | undefined} */
    let answer;
    const other = await connect({
      ...agent,
      fetch: async (input, init) => {
        if (init?.method !== "DELETE") return fetch(input, init);
        if (answer !== undefined) return answer.clone();
        // Another client's comes before.
        await fetch(input, init);
        return fetch(input, init);
      },
    });
    answer = Response.json({ code: 403, message: "no" }, { status: 403 });
    await assert.rejects(
      other.execs.remove(),
      (error) => error instanceof HttpError && error.status === 403,
    );
    assert.deepEqual(await ids(), ended);
    answer = undefined;
    assert.deepEqual(await other.execs.remove(), []);
    assert.deepEqual(await ids(), []);
  });

  it("refuses what makes no sense", async () => {
    for (const wrong of [
      { keep: -1 },
      { keep: 1.5 },
      { keep: "1" },
      { endedBefore: "some day" },
      { endedBefore: NaN },
      { endedBefore: new Date(NaN) },
      { endedBefore: null },
      { ended: true },
      7,
    ]) {
      await assert.rejects(
        // @ts-expect-error It is wrong.
        execs.remove(wrong),
        (error) => error instanceof InvalidArgumentError,
        JSON.stringify(wrong),
      );
    }
  });
});
