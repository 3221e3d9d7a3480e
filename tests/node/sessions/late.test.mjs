// @ts-check
// Requests that take long: what is late must not reach the next run.
import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";

import { connect, InterruptedError, TimeoutError } from "sandpipe";

import { until } from "../../support/processes.mjs";
import { failure } from "../../support/script.mjs";
import { createSession, testSessions } from "./place.mjs";
import { timersOf } from "./timers-of.mjs";

/** The time for which all processes but the shell are killed repeatedly, in milliseconds. */
const KILL_OTHERS_TIMEOUT_MS = 3000;

/**
 * Connects to the agent in a way that delays one request, and forwards it even if its sender gives
 * up.
 *
 * @param {import("./place.mjs").Place} place
 * @param {RegExp} which found in the address and body of the request
 */
async function holdingUp(place, which) {
  let armed = false;
  let isHeld = false;
  let forwarded = false;
  let hasKilled = false;
  /** @type {() => void} */
  let release = () => {};
  const sandbox = await connect({
    ...place.agent,
    async fetch(input, init) {
      const request = `${String(input)} ${String(init?.body ?? "")}`;
      const isIt = armed && which.test(request);
      if (!isIt) {
        const response = await fetch(input, init);
        if (request.includes("kill -KILL")) hasKilled = true;
        return response;
      }
      armed = false;
      isHeld = true;
      await new Promise((resolve) => (release = () => resolve(undefined)));
      const response = await fetch(input, { ...init, signal: null });
      forwarded = true;
      return response;
    },
  });
  return {
    session: await createSession(sandbox, { shell: place.shell }),
    arm: () => (armed = true),
    isHeld: () => isHeld,
    release: () => release(),
    forwarded: () => forwarded,
    /** Whether the agent was asked to kill all processes but the shell. */
    hasKilled: () => hasKilled,
  };
}

testSessions("what is late on its way to sessions", (place, { contract }) => {
  for (const [what, which] of /** @type {const} */ ([
    ["an end line", /:e0,/],
    ["SIGINT", /"signal":"SIGINT"|"INT"/],
  ])) {
    contract(`${what} does not reach the next run`, async () => {
      const way = await holdingUp(place, which);
      const { session } = way;
      way.arm();
      const failed = failure(session.run("sleep 1000", { timeoutMs: 20, graceMs: 20 }));
      // By then the script has been stopped in another way.
      await until(() => way.isHeld() && way.hasKilled());
      way.release();
      const error = await failed;
      assert.ok(error instanceof TimeoutError, String(error));
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
      const { exitCode } = await place.sandbox.run(`: >'${stop.trim()}'`);
      assert.equal(exitCode, 0);
      assert.deepEqual(await looping, { exitCode: 0, output: stop });
      assert.deepEqual(await session.run('rm "$STOP"'), { exitCode: 0, output: "" });
      await session.close();
    });
  }

  contract("a script is interrupted once it has arrived, however long that takes", async () => {
    // Its second piece.
    const way = await holdingUp(place, /"input":"x{500000}/);
    const { session } = way;
    await session.run("sleep 1000 &");
    way.arm();
    // No program: a SIGINT that comes while the shell starts one is lost.
    const script = `while :; do :; done; : ${"x".repeat(2_000_000)}`;
    const stop = new AbortController();
    const failed = failure(session.run(script, { signal: stop.signal }));
    await until(way.isHeld);
    stop.abort();
    await turn();
    way.release();
    const error = await failed;
    assert.ok(error instanceof InterruptedError, String(error));
    assert.equal(error.forced, false);
    assert.equal((await session.run("kill -0 $! && echo runs")).output, "runs\n");
    await session.close();
  });

  contract("what is left is killed, however long it takes to say so", async (t) => {
    const way = await holdingUp(place, /kill -KILL/);
    const { session } = way;
    await session.run("KEPT=yes");
    way.arm();
    const limits = timersOf(t, KILL_OTHERS_TIMEOUT_MS);
    const force = new AbortController();
    const running = session.run(`sh -c "trap '' INT; echo begun; while :; do sleep 0.05; done"`, {
      forceSignal: force.signal,
      onOutput: () => force.abort(),
    });
    const failed = failure(running);
    await until(way.isHeld);
    await turn();
    // The time for kills begins with the first one that is answered.
    limits.end();
    await turn();
    way.release();
    const error = await failed;
    assert.ok(error instanceof InterruptedError, String(error));
    assert.equal(error.forced, true);
    assert.equal((await session.run("echo $KEPT")).output, "yes\n");
    await session.close();
  });
});
