// @ts-check
// Faults that take their time: what proxies and networks do to streams that last.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { connect } from "sandpipe";
import { Proxy } from "./proxy.mjs";
import { Rig } from "./rig.mjs";
import { endAfter, fallSilent } from "./stream-faults.mjs";

/** @typedef {import("./plan.mjs").Fault} Fault */

/** As long as the core waits for a sign of life. */
const SILENCE_MS = 45_000;

const skip = process.env["SEED"] !== undefined;

describe("slow faults", { concurrency: true, skip }, () => {
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
   * @param {() => Fault | undefined} plan what befalls the next stream
   */
  async function runThrough(script, plan) {
    let streams = 0;
    const proxy = new Proxy(rig.agent.url, {
      next(request) {
        if (!request.streams) return undefined;
        streams += 1;
        return plan();
      },
    });
    const url = await proxy.listen();
    const sandbox = await connect({ url, token: rig.agent.token });
    const start = performance.now();
    try {
      const result = await sandbox.execs.exec("sh", ["-c", script]);
      assert.deepEqual(proxy.errors, []);
      return { ...result, streams, time: performance.now() - start };
    } finally {
      sandbox.close();
      await proxy.close();
    }
  }

  it("a proxy that ends every stream after 2 s is not noticed", async () => {
    const ended = join(rig.folder, "ended");
    let streams = 0;
    const { exitCode, output } = await runThrough(
      `i=0; while [ ! -e '${ended}' ]; do i=$((i+1)); echo $i é€😀; sleep 0.1; done; echo $i; exit 9`,
      () => {
        // Three have been ended.
        if (++streams === 4) writeFileSync(ended, "");
        return { name: "ends", carry: endAfter(2000, "reset") };
      },
    );
    const lines = output.split("\n").length - 2;
    const expected = Array.from({ length: lines }, (_, index) => `${index + 1} é€😀\n`);
    assert.equal(output, `${expected.join("")}${lines}\n`);
    assert.equal(exitCode, 9);
  });

  it("a stream that is dead is given up after 45 s of silence", async () => {
    let dead = false;
    const { exitCode, output, streams, time } = await runThrough("seq 1 100; exit 3", () => {
      if (dead) return undefined;
      dead = true;
      return { name: "dead", carry: fallSilent(40) };
    });
    assert.equal(output, Array.from({ length: 100 }, (_, index) => `${index + 1}\n`).join(""));
    assert.deepEqual([exitCode, streams], [3, 2]);
    // Not sooner, and not much later than that, also on a busy machine.
    assert.ok(time >= SILENCE_MS && time < 3 * SILENCE_MS, `it took ${time} ms`);
  });

  it("a command that is silent for longer than that keeps its stream", async () => {
    const { exitCode, output, streams } = await runThrough("sleep 48; echo awake", () => undefined);
    assert.deepEqual([exitCode, output, streams], [0, "awake\n", 1]);
  });

  it("input that a command does not read for longer than that arrives once", async () => {
    const input = "x".repeat(1_000_000);
    const result = await rig.direct.exec("sh", ["-c", "sleep 48; wc -c"], { input });
    assert.deepEqual({ ...result }, { exitCode: 0, output: "1000000\n" });
  });
});
