// @ts-check
// Which processes belong together.
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";

import { BackgroundError, NotFoundError } from "sandpipe";

/** @import { Runtime } from "sandpipe" */
/** @import { Tests } from "../../support/matrix.mjs" */
/** @import { Subject } from "./subject.mjs" */

/** @param {Subject} subject @param {Tests} tests */
export function testNamespaces(subject, { it, contract }) {
  describe("background namespaces", () => {
    contract("are apart, and listed if they have a process", async () => {
      const baseDir = join(subject.directory, "namespaces");
      const [one, two, none] = ["one", "2.two_-", "none"].map((namespace) =>
        subject.background({ baseDir, namespace }),
      );
      assert.ok(one && two && none);
      assert.deepEqual(await one.namespaces(), []);
      const { id } = await one.spawn("exit 3");
      const other = await two.spawn("true");
      await two.spawn("true");
      mkdirSync(join(baseDir, "an odd name", "x"), { recursive: true });
      mkdirSync(join(baseDir, "empty"));
      assert.deepEqual((await none.namespaces()).sort(), ["2.two_-", "one"]);
      const list = async (/** @type {typeof one} */ processes) =>
        (await processes.list()).map((process) => process.id);
      assert.deepEqual(await list(one), [id]);
      assert.equal((await list(two)).length, 2);
      assert.deepEqual(await list(none), []);
      await assert.rejects(one.get(other.id), NotFoundError);
      assert.equal((await one.wait(id)).exitCode, 3);
      assert.equal((await two.wait(other.id)).exitCode, 0);
    });

    it("is that of the agent, whose variable leads out of no directory", async () => {
      const baseDir = join(subject.directory, "namespaces of agents");
      /** @param {string} name */
      const of = (name) =>
        subject.background({
          baseDir,
          runtime: /** @type {Runtime} */ ({
            run: (script, options) =>
              subject.runtime.run(`export SANDPIPE_NAMESPACE='${name}'\n${script}`, options),
          }),
        });
      const { id, outputDir } = await of("agent-1").spawn("true");
      assert.equal(outputDir, join(baseDir, "agent-1", id));
      assert.deepEqual(await of("agent-2").list(), []);
      for (const name of ["../out", ".", ".a", "a/b", "-a", "a b"]) {
        await assert.rejects(
          of(name).spawn("true"),
          (error) => error instanceof BackgroundError && error.message.includes(name),
          name,
        );
      }
      assert.equal(existsSync(join(baseDir, "..", "out")), false);
    });
  });
}
