// @ts-check
// How processes are removed.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe } from "node:test";

import { BackgroundError, NotFoundError } from "sandpipe";

/** @import { Tests } from "../../support/matrix.mjs" */
/** @import { Subject } from "./subject.mjs" */

/** @param {Subject} subject @param {Tests} tests */
export function testRemove(subject, { shellContract, contract }) {
  describe("remove", () => {
    contract("removes what has ended, and nothing that runs", async () => {
      const { id, outputDir } = await subject.processes.spawn("sleep 600");
      await assert.rejects(
        subject.processes.remove(id),
        (error) => error instanceof BackgroundError && error.reason === "running",
      );
      await subject.processes.terminate(id);
      assert.equal(await subject.processes.remove(id), undefined);
      assert.equal(existsSync(outputDir), false);
      await assert.rejects(
        subject.processes.get(id),
        (error) => error instanceof NotFoundError && error.id === id,
      );
    });

    shellContract("removes nothing of which something is still running", async () => {
      const { id, outputDir } = await subject.processes.spawn("sleep 600 & exit 3");
      await subject.processes.wait(id);
      await assert.rejects(
        subject.processes.remove(id),
        (error) => error instanceof BackgroundError && error.reason === "running",
      );
      assert.ok(existsSync(outputDir));
      await subject.processes.terminate(id);
      await subject.processes.remove(id);
    });
  });
}
