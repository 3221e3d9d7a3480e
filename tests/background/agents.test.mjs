// @ts-check
// Background processes of a sandbox belong to its agent.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { background, connect } from "sandpipe";

import { RestartableAgent } from "../support/restartable-agent.mjs";
import { directoryOfTests } from "../support/target.mjs";

describe("background processes of an agent", () => {
  const { subdirectory } = directoryOfTests();

  it("are its own, and found after its restart", async () => {
    const [one, two] = ["one", "two"].map((name) => new RestartableAgent(subdirectory(name)));
    assert.ok(one && two);
    const baseDir = join(subdirectory("processes"), "base");
    mkdirSync(baseDir, { mode: 0o700 });
    await one.start();
    // Without what a policy passes of the environment, too.
    await two.start(["--policy", '{ "extends": ["open"], "env": { "pass": ["PATH"] } }']);
    try {
      const at = async (/** @type {RestartableAgent} */ { url, token }) => {
        const sandbox = await connect({ url, token });
        return { sandbox, processes: background(sandbox, { baseDir }) };
      };
      const [first, second] = [await at(one), await at(two)];
      const { id } = await first.processes.spawn("exit 3");
      assert.equal((await first.processes.wait(id)).exitCode, 3);
      const other = await second.processes.spawn("true");
      const ids = async (/** @type {typeof first} */ { processes }) =>
        (await processes.list()).map((process) => process.id);
      assert.deepEqual(await ids(first), [id]);
      assert.deepEqual(await ids(second), [other.id]);
      first.sandbox.close();
      second.sandbox.close();
      await one.stop();
      await one.start();
      const again = await at(one);
      assert.deepEqual(await ids(again), [id]);
      assert.equal((await again.processes.namespaces()).length, 2);
      const all = background(again.sandbox, { baseDir, namespace: "default" });
      assert.deepEqual(await all.list(), []);
      again.sandbox.close();
    } finally {
      await Promise.all([one.stop(), two.stop()]);
    }
  });
});
