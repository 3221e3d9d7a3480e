// @ts-check
// Requests that take long: what is late must not reach the next run.
import assert from "node:assert/strict";
import { it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { connect, InterruptedError, TimeoutError } from "sandpipe";

import { until } from "../../support/processes.mjs";
import { failure } from "../../support/script.mjs";
import { testSessions } from "./place.mjs";

/**
 * A way to an agent that holds one request up, and then forwards it whatever its sender does.
 *
 * @param {import("./place.mjs").Place} place
 * @param {RegExp} which found in the address and body of the request
 * @param {number} milliseconds
 */
async function holdingUp(place, which, milliseconds) {
  let armed = false;
  let forwarded = false;
  const sandbox = await connect({
    ...place.agent,
    async fetch(input, init) {
      const isIt = armed && which.test(`${String(input)} ${String(init?.body ?? "")}`);
      if (!isIt) return fetch(input, init);
      armed = false;
      await pause(milliseconds);
      const response = await fetch(input, { ...init, signal: null });
      forwarded = true;
      return response;
    },
  });
  return { sandbox, arm: () => (armed = true), forwarded: () => forwarded };
}

testSessions("what is late on its way to sessions", (place) => {
  for (const [what, which] of /** @type {const} */ ([
    ["an end line", /:e0,/],
    ["SIGINT", /"signal":"SIGINT"|"INT"/],
  ])) {
    it(`${what} does not reach the next run`, async () => {
      const way = await holdingUp(place, which, 300);
      const session = await way.sandbox.sessions.create({ shell: place.shell });
      way.arm();
      const error = await failure(session.run("sleep 1000", { timeoutMs: 20, graceMs: 20 }));
      assert.ok(error instanceof TimeoutError);
      // It goes on until what is late is there.
      let stop = "";
      const looping = session.run(
        'STOP=$(mktemp -u); echo "$STOP"; until [ -e "$STOP" ]; do :; done',
        {
          onOutput: ({ output }) => (stop += output),
        },
      );
      await until(() => stop.endsWith("\n"));
      await until(way.forwarded);
      const { exitCode } = await place.sandbox.run(`: >${stop.trim()}`);
      assert.equal(exitCode, 0);
      assert.deepEqual(await looping, { exitCode: 0, output: stop });
      assert.deepEqual(await session.run('rm "$STOP"'), { exitCode: 0, output: "" });
      await session.close();
    });
  }

  it("a script is interrupted once it has arrived, however long that takes", async () => {
    // Its second piece.
    const way = await holdingUp(place, /"input":"x{500000}/, 500);
    const session = await way.sandbox.sessions.create({ shell: place.shell });
    await session.run("sleep 1000 &");
    way.arm();
    // No program: a SIGINT that comes while the shell starts one is lost.
    const script = `while :; do :; done; : ${"x".repeat(2_000_000)}`;
    const error = await failure(session.run(script, { timeoutMs: 20 }));
    assert.ok(error instanceof TimeoutError);
    assert.equal(error.forced, false);
    assert.equal((await session.run("kill -0 $! && echo runs")).output, "runs\n");
    await session.close();
  });

  it("what is left is killed, however long it takes to say so", async () => {
    const way = await holdingUp(place, /kill -KILL/, 3500);
    const session = await way.sandbox.sessions.create({ shell: place.shell });
    await session.run("KEPT=yes");
    way.arm();
    const force = new AbortController();
    const running = session.run(`sh -c "trap '' INT; echo begun; while :; do sleep 0.05; done"`, {
      forceSignal: force.signal,
      onOutput: () => force.abort(),
    });
    const error = await failure(running);
    assert.ok(error instanceof InterruptedError);
    assert.equal(error.forced, true);
    assert.equal((await session.run("echo $KEPT")).output, "yes\n");
    await session.close();
  });
});
