// @ts-check
// Commands that are silent for longer than the core waits for a sign of life, with a real agent and the machine's clock.
// `npm run matrix` has them: silence.test.mjs stops the clock of the core, and the agent's own tests say that it gives
// signs of life, and that a body has all the time while nobody reads it.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { connect } from "sandpipe";

import { isMatrix } from "../support/matrix.mjs";
import { Proxy } from "./proxy.mjs";
import { Rig } from "./rig.mjs";

const skip = process.env["SEED"] !== undefined || (!isMatrix && "it takes 48 s: npm run matrix");

describe("silence, in real time", { concurrency: true, skip, timeout: 300_000 }, () => {
  /** @type {Rig} */
  let rig;
  before(async () => {
    rig = await Rig.start("full");
  });
  after(() => rig.stop());

  it("a command that is silent for 48 s keeps its stream", async () => {
    let streams = 0;
    const proxy = new Proxy(rig.agent.url, {
      next(request) {
        if (request.streams) streams += 1;
        return undefined;
      },
    });
    const sandbox = await connect({ url: await proxy.listen(), token: rig.agent.token });
    const { exitCode, output } = await sandbox.execs.exec("sh", ["-c", "sleep 48; echo awake"]);
    sandbox.close();
    await proxy.close();
    assert.deepEqual([exitCode, output, streams, proxy.errors], [0, "awake\n", 1, []]);
  });

  it("input that a command does not read for 48 s arrives once", async () => {
    const input = "x".repeat(1_000_000);
    const result = await rig.direct.exec("sh", ["-c", "sleep 48; wc -c"], { input });
    assert.deepEqual({ ...result }, { exitCode: 0, output: "1000000\n" });
  });
});
