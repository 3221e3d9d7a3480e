// @ts-check
// How the end is waited for.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { describe } from "node:test";

import { until } from "../../support/processes.mjs";
import { endless, waitingScripts } from "../waiting-scripts.mjs";
import { interruptedBy } from "../../support/interrupted.mjs";

/** @import { Tests } from "../../support/matrix.mjs" */
/** @import { Subject } from "./subject.mjs" */

/**
 * @param {Subject} subject
 * @param {Tests} tests
 * @param {boolean} alone it runs one script at a time
 */
export function testWait(subject, { contract }, alone) {
  describe("wait", () => {
    // A session runs one script at a time.
    const skip = alone && "one wait holds up the other";
    contract("waits on the target, and is not asking all the time", { skip }, async () => {
      let calls = 0;
      const counting = subject.background({
        runtime: { run: (script, opts) => ((calls += 1), subject.runtime.run(script, opts)) },
      });
      const go = subject.path();
      const { id } = await counting.spawn(`until [ -e '${go}' ]; do sleep 0.02; done; exit 4`);
      calls = 0;
      const waiting = counting.wait(id);
      const begin = performance.now();
      await counting.wait(id, { timeoutMs: 300 });
      assert.ok(performance.now() - begin >= 290);
      writeFileSync(go, "");
      assert.equal((await waiting).exitCode, 4);
      assert.equal(calls, 2);
    });

    contract("resolves with the process as it is when the time is over", async () => {
      const { id } = await subject.processes.spawn("sleep 600");
      const { status, exitCode } = await subject.processes.wait(id, { timeoutMs: 100 });
      assert.deepEqual([status, exitCode], ["running", undefined]);
      assert.equal((await subject.processes.get(id)).status, "running");
    });

    contract("ends when it is aborted, and the process goes on", async () => {
      const { id } = await subject.processes.spawn("sleep 600");
      const stop = new AbortController();
      const reason = new Error("enough");
      // Nothing but the abort is to end the script.
      const own = subject.background({
        runtime: { run: (script, options) => subject.runtime.run(endless(script), options) },
      });
      const waiting = own.wait(id, { signal: stop.signal });
      const rejected = assert.rejects(waiting, interruptedBy(reason));
      await until(() => waitingScripts(id).length > 0);
      stop.abort(reason);
      await rejected;
      // The runtime ends the script, too.
      await until(() => waitingScripts(id).length === 0);
      await assert.rejects(
        subject.processes.wait(id, { signal: stop.signal }),
        interruptedBy(reason),
      );
      assert.equal((await subject.processes.get(id)).status, "running");
    });
  });
}
