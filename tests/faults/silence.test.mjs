// @ts-check
// Streams on which nothing comes: for how long the core waits, by a clock that goes on when a test says so. With the
// clock of the machine: silence-in-real-time.test.mjs.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";

import { connect } from "sandpipe";

import { holdTimers } from "../support/held-timers.mjs";
import { until } from "../support/processes.mjs";
import { Proxy } from "./proxy.mjs";
import { Rig } from "./rig.mjs";
import { fallSilent } from "./stream-faults.mjs";

/** How long the core waits for a sign of life. */
const SILENCE_MS = 45_000;
/** A sign of life in frames: no payload, type 5, no sequence, no time. */
const PING = Buffer.alloc(21).fill(5, 4, 5);

/** Stops the clock of the core. @param {import("node:test").TestContext} t */
function stopClock(t) {
  const timers = holdTimers(1_000);
  t.after(() => timers.restore());
  /** @param {number} ms */
  return async function pass(ms) {
    timers.pass(ms);
    // What has come, and what is due, has been taken note of then.
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  };
}

describe("silence", { skip: process.env["SEED"] !== undefined }, () => {
  /** @type {Rig} */
  let rig;
  before(async () => {
    rig = await Rig.start("full");
  });
  after(() => rig.stop());

  /**
   * Connects through a proxy.
   *
   * @param {import("node:test").TestContext} t
   * @param {() => import("./stream-faults.mjs").Carry | undefined} carry what becomes of the next stream
   */
  async function through(t, carry) {
    const counts = { streams: 0, taken: 0 };
    const proxy = new Proxy(rig.agent.url, {
      next(request) {
        if (!request.streams) return undefined;
        counts.streams += 1;
        const how = carry();
        return how === undefined ? undefined : { name: "silent", carry: how };
      },
    });
    const url = await proxy.listen();
    const sandbox = await connect({
      ...{ url, token: rig.agent.token },
      fetch: async (input, init) => {
        const answer = await fetch(input, init);
        const counting = new TransformStream({
          transform(chunk, controller) {
            counts.taken += 1;
            controller.enqueue(chunk);
          },
        });
        return new Response(answer.body?.pipeThrough(counting) ?? null, answer);
      },
    });
    t.after(async () => {
      sandbox.close();
      await proxy.close();
      assert.deepEqual(proxy.errors, []);
    });
    return { execs: sandbox.execs, counts };
  }

  it("a stream that is dead is given up after 45 s", async (t) => {
    let isNext = false;
    const { execs, counts } = await through(t, () => {
      const how = isNext ? fallSilent(40) : undefined;
      isNext = false;
      return how;
    });
    // What the agent can do is known then.
    await execs.exec("true");
    counts.streams = 0;
    isNext = true;
    const pass = stopClock(t);
    const before = counts.taken;
    const running = execs.exec("sh", ["-c", "seq 1 100; exit 3"]);
    await until(() => counts.taken > before);
    await pass(SILENCE_MS - 1_000);
    assert.equal(counts.streams, 1);
    await pass(1_000);
    await until(() => counts.streams === 2);
    const { exitCode, output } = await running;
    assert.equal(exitCode, 3);
    assert.equal(output, Array.from({ length: 100 }, (_, index) => `${index + 1}\n`).join(""));
  });

  it("a stream with signs of life is kept, however long its command is silent", async (t) => {
    /** @type {() => void} */
    let ping = () => undefined;
    const { execs, counts } = await through(t, () => withPings((send) => (ping = send)));
    const end = join(rig.folder, "end");
    const pass = stopClock(t);
    const script = `echo up; until [ -e '${end}' ]; do sleep 0.02; done; echo awake`;
    let isUp = false;
    const running = execs.exec("sh", ["-c", script], { onOutput: () => void (isUp = true) });
    await until(() => isUp);
    for (let round = 0; round < 5; round += 1) {
      await pass(SILENCE_MS - 1_000);
      const { taken } = counts;
      ping();
      await until(() => counts.taken > taken);
    }
    await pass(SILENCE_MS - 1_000);
    writeFileSync(end, "");
    assert.deepEqual({ ...(await running) }, { exitCode: 0, output: "up\nawake\n" });
    assert.equal(counts.streams, 1);
  });

  it("input that a command does not read for longer than that arrives once", async (t) => {
    const { execs } = await through(t, () => undefined);
    const end = join(rig.folder, "read");
    const pass = stopClock(t);
    const script = `echo up; until [ -e '${end}' ]; do sleep 0.02; done; wc -c`;
    let isUp = false;
    const running = execs.exec("sh", ["-c", script], {
      input: "x".repeat(1_000_000),
      onOutput: () => void (isUp = true),
    });
    await until(() => isUp);
    for (let seconds = 0; seconds < 3 * 48; seconds += 1) await pass(1_000);
    writeFileSync(end, "");
    assert.deepEqual({ ...(await running) }, { exitCode: 0, output: "up\n1000000\n" });
  });
});

/**
 * Hands a stream on, and signs of life between what comes of it.
 *
 * @param {(ping: () => void) => void} begin gets what sends one
 * @returns {import("./stream-faults.mjs").Carry}
 */
function withPings(begin) {
  return async function* (source) {
    const chunks = source[Symbol.asyncIterator]();
    let next = chunks.next();
    for (;;) {
      /** @type {Promise<"ping">} */
      const asked = new Promise((resolve) => begin(() => resolve("ping")));
      const first = await Promise.race([next, asked]);
      if (first === "ping") {
        yield { send: PING };
        continue;
      }
      if (first.done) return;
      yield { send: first.value };
      next = chunks.next();
    }
  };
}
