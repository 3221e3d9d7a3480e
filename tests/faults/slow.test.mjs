// @ts-check
// Faults that take their time: what proxies and networks do to streams that last.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { connect } from "sandpipe";
import { Proxy } from "./proxy.mjs";
import { Rig } from "./rig.mjs";
import { endAfter, fallSilent } from "./stream-faults.mjs";

/**
 * @typedef {import("./plan.mjs").Asked} Asked
 * @typedef {import("./plan.mjs").Fault} Fault
 */

/** As long as the core waits for a sign of life. */
const SILENCE_MS = 45_000;

describe("slow faults", { concurrency: true, skip: process.env["SEED"] !== undefined }, () => {
  /** @type {Rig} */
  let rig;
  before(async () => {
    rig = await Rig.start("full");
  });
  after(() => rig.stop());

  /**
   * Runs a shell script through a proxy, with the settings that a user has who sets nothing.
   *
   * @param {string} script
   * @param {(asked: Asked, count: number) => Fault | undefined} plan `count`: the requests of this
   * kind, this one included
   */
  async function runThrough(script, plan) {
    /** @type {(Asked & { time: number })[]} */
    const asked = [];
    const proxy = new Proxy(rig.agent.url, {
      next(request) {
        asked.push({ ...request, time: performance.now() });
        return plan(request, asked.filter(({ kind }) => kind === request.kind).length);
      },
    });
    const url = await proxy.listen();
    const sandbox = await connect({ url, token: rig.agent.token });
    const start = performance.now();
    try {
      const result = await sandbox.execs.exec("sh", ["-c", script]);
      const { struck, errors } = proxy;
      assert.deepEqual(errors, []);
      const of = (/** @type {string} */ kind) => asked.filter((request) => request.kind === kind);
      return { ...result, struck: struck.length, of, time: performance.now() - start };
    } finally {
      sandbox.close();
      await proxy.close();
    }
  }

  for (const ending of /** @type {const} */ (["clean", "abort", "reset"])) {
    it(`a proxy that ends every stream after 2 s (${ending}) is not noticed`, async () => {
      const { exitCode, output, struck } = await runThrough(
        "i=0; while [ $i -lt 70 ]; do i=$((i+1)); echo $i é€😀; sleep 0.1; done; exit 9",
        ({ kind }) =>
          kind === "stream" ? { name: "ends", carry: endAfter(2000, ending) } : undefined,
      );
      const lines = Array.from({ length: 70 }, (_, index) => `${index + 1} é€😀\n`);
      assert.equal(output, lines.join(""));
      assert.equal(exitCode, 9);
      assert.ok(struck >= 3, `${struck} streams were ended`);
    });
  }

  for (const bytes of [0, 40, 200]) {
    it(`a stream that is dead after ${bytes} bytes is given up after 45 s of silence`, async () => {
      const { exitCode, output, struck, time } = await runThrough(
        "seq 1 100; exit 3",
        ({ kind }, count) =>
          kind === "stream" && count === 1 ? { name: "dead", carry: fallSilent(bytes) } : undefined,
      );
      assert.equal(output, Array.from({ length: 100 }, (_, index) => `${index + 1}\n`).join(""));
      assert.equal(exitCode, 3);
      assert.equal(struck, 1);
      assert.ok(time >= SILENCE_MS && time < SILENCE_MS + 5000, `it took ${time} ms`);
    });
  }

  it("a command that is silent for longer than that keeps its stream", async () => {
    const { exitCode, output, of } = await runThrough("sleep 48; echo awake", () => undefined);
    assert.deepEqual({ exitCode, output }, { exitCode: 0, output: "awake\n" });
    assert.equal(of("stream").length, 1);
  });

  it("Retry-After is obeyed, where it is longer than the own pause, too", async () => {
    for (const kind of /** @type {const} */ (["health", "create", "stream"])) {
      const { exitCode, of } = await runThrough("exit 4", (asked, count) =>
        asked.kind === kind && count === 1
          ? { name: "later", answer: "429, Retry-After", retryAfter: 2 }
          : undefined,
      );
      assert.equal(exitCode, 4);
      const [first, second] = of(kind).map(({ time }) => time);
      assert.ok(first !== undefined && second !== undefined);
      assert.ok(second - first >= 1990, `${kind}: again after ${second - first} ms`);
    }
  });
});
