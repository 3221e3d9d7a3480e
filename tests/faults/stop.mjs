// @ts-check
/** One stop through a proxy that breaks what it can, and the verdict. */

import assert from "node:assert/strict";
import { connect, InterruptedError } from "sandpipe";
import { marked, marker } from "../support/processes.mjs";
import { Plan } from "./plan.mjs";
import { Proxy } from "./proxy.mjs";
import { Random } from "../support/random.mjs";

/** Where a signal may be lost: then it passes. */
const SHORT_GRACE_MS = 500;

/** Where none is lost: it does not pass, however busy the machine is. */
const LONG_GRACE_MS = 60_000;

/**
 * Tidies up when it is told to end. Its child says that it is ready, since a signal that comes between its fork(2) and its execve(2)
 * is lost in the handler that it has from its parent. What the shell says of its child's end is not looked at.
 */
const SCRIPT = `
exec 2>/dev/null
trap 'echo bye; exit 7' TERM
sh -c 'echo ready; exec sleep 1000' & wait`;

/**
 * Stops a command; throws unless it was stopped, or its caller was told that it could not be.
 *
 * @param {import("./rig.mjs").Rig} rig
 * @param {string} seed all chance comes of it
 * @returns {Promise<number>} how many faults struck
 */
export async function checkStop(rig, seed) {
  const { struck, error, left, maySignalsBeLost } = await stop(rig, seed);
  try {
    assert.equal(error.exitCode, 130);
    // Its cause is that of the abort.
    const isTold = /could not be stopped: .*It may still run/s.test(error.message);
    assert.ok(left.length === 0 || isTold, `${left.length} processes are left`);
    if (rig.kind === "plain") return struck.length;
    assert.equal(left.length, 0);
    if (error.forced) {
      // SIGTERM is not repeated once it may have arrived: SIGKILL comes after the grace period. Where it can't be lost, that is too long to
      // pass.
      assert.ok(maySignalsBeLost);
    } else {
      assert.equal(error.output, "ready\nbye\n");
    }
    return struck.length;
  } catch (cause) {
    const faults = struck.map(({ kind, name }) => `${kind}: ${name}`).join(", ");
    throw new Error(`${seed} (${faults}): ${error.message}`, { cause });
  }
}

/**
 * Runs a command, interrupts it once it is ready, and tells what came of that.
 *
 * @param {import("./rig.mjs").Rig} rig
 * @param {string} seed
 */
async function stop(rig, seed) {
  const random = new Random(seed);
  // An agent without extensions is told by other requests, which may be lost, too.
  const maySignalsBeLost = rig.kind === "plain" || random.chance(0.8);
  const graceMs = maySignalsBeLost ? SHORT_GRACE_MS : LONG_GRACE_MS;
  let isReady = false;
  // Before that, other runs have shown what faults do.
  const plan = new Plan(random, {
    budget: random.between(1, 8),
    lateShare: 0.3,
    reach: { bytes: 300, events: 3 },
    chances: {
      signal: maySignalsBeLost ? 0.7 : 0,
      create: rig.kind === "plain" ? 0.2 : 0.7,
      stream: 0.7,
      get: maySignalsBeLost ? 0.3 : 0.7,
    },
  });
  const proxy = new Proxy(rig.agent.url, {
    next: (asked) => (isReady ? plan.next(asked) : undefined),
  });
  const sandbox = await connect({
    url: await proxy.listen(),
    token: rig.agent.token,
    retry: { baseDelayMs: 1, maxDelayMs: 20, maxAttempts: 10 },
  });
  const mark = marker();
  const controller = new AbortController();
  const onOutput = () => {
    isReady = true;
    controller.abort();
  };
  const options = { signal: controller.signal, graceMs, onOutput, env: mark };
  try {
    const running = sandbox.execs.exec("sh", ["-c", SCRIPT], options);
    const error = await running.then(
      (result) => assert.fail(`it ended: ${JSON.stringify(result)}`),
      (/** @type {unknown} */ thrown) => thrown,
    );
    if (!(error instanceof InterruptedError)) throw error;
    return { struck: proxy.struck, error, left: marked(mark), maySignalsBeLost };
  } finally {
    sandbox.close();
    await proxy.close();
    for (const exec of await rig.direct.list()) await rig.direct.delete(exec.id);
  }
}
