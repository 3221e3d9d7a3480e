// @ts-check
// How a text in the output, and a port, are waited for.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { describe } from "node:test";

import { isSandpipeError } from "sandpipe";

import { freePort } from "../../support/free-port.mjs";
import { until } from "../../support/processes.mjs";
import { endless, waitingScripts } from "../waiting-scripts.mjs";
import { LONG_MS } from "./subject.mjs";
import { interruptedBy } from "../../support/interrupted.mjs";

/** @import { Tests } from "../../support/matrix.mjs" */
/** @import { Subject } from "./subject.mjs" */

/**
 * @param {Subject} subject
 * @param {Tests} tests
 * @param {boolean} alone it runs one script at a time
 */
export function testWaitFor(subject, { it, shellContract, runtimeContract }, alone) {
  describe("waitForOutput", () => {
    it("finds a text that is there already, in either stream, and what a RegExp finds", async () => {
      const { id } = await subject.processes.spawn("echo 'on port 5173'; echo no >&2; sleep 600");
      const { match, stream } = await subject.processes.waitForOutput(id, "port");
      assert.deepEqual([match, stream], ["port", "stdout"]);
      assert.equal((await subject.processes.waitForOutput(id, "no\n")).stream, "stderr");
      const found = await subject.processes.waitForOutput(id, /port (\d+)$/gm);
      assert.equal(found.match[1], "5173");
      const { output } = await subject.processes.readOutput(id, { offset: found.nextOffset });
      assert(!output.includes("port"));
    });

    // A session runs one script at a time.
    const skip = alone && "one wait holds up the other";
    it("finds a text that comes in pieces, while it waits", { skip }, async () => {
      const [first, second] = [subject.path(), subject.path()];
      const { id } = await subject.processes.spawn(`
        until [ -e '${first}' ]; do sleep 0.02; done; printf 'rea'; printf 'dy' >&2
        until [ -e '${second}' ]; do sleep 0.02; done; printf 'dy'; sleep 600`);
      const ready = subject.processes.waitForOutput(id, "ready");
      writeFileSync(first, "");
      await subject.processes.waitForOutput(id, "rea");
      await subject.processes.waitForOutput(id, "dy");
      writeFileSync(second, "");
      assert.equal((await ready).stream, "stdout");
    });

    it("rejects when the process ends without it, with exit code and last output", async () => {
      // By one pipe: two have no order.
      const { id } = await subject.processes.spawn("exec >&2; echo begun; echo 'no room'; exit 3");
      await assert.rejects(subject.processes.waitForOutput(id, /never/), (error) => {
        assert(isSandpipeError(error, "not_ready"));
        assert.deepEqual([error.id, error.exitCode, error.execId], [id, 3, undefined]);
        assert.equal(error.output, "begun\nno room\n");
        assert.match(error.message, /exit code 3 before \/never\/ was in its output; .*: no room$/);
        return true;
      });
    });

    runtimeContract("gives up by time and by signal, and the process goes on", async () => {
      const { id } = await subject.processes.spawn("echo begun; sleep 600");
      // What is there by then does not depend on how fast it starts.
      await subject.processes.readOutput(id, { waitMs: LONG_MS });
      await assert.rejects(subject.processes.waitForOutput(id, "never", { timeoutMs: 200 }), {
        code: "timeout",
        output: "begun\n",
      });
      const reason = new Error("enough");
      const controller = new AbortController();
      const { signal } = controller;
      // Nothing but the abort is to end the script.
      const own = subject.background({
        runtime: { run: (script, options) => subject.runtime.run(endless(script), options) },
      });
      const aborted = own.waitForOutput(id, "never", { signal, timeoutMs: LONG_MS });
      const rejected = assert.rejects(aborted, interruptedBy(reason));
      await until(() => waitingScripts(id).length > 0);
      controller.abort(reason);
      await rejected;
      await until(() => waitingScripts(id).length === 0);
      await assert.rejects(
        subject.processes.waitForOutput(id, "never", { signal }),
        interruptedBy(reason),
      );
      assert.equal((await subject.processes.get(id)).status, "running");
    });
  });

  describe("waitForPort", () => {
    /** @param {string} address @param {number} port */
    const server = (address, port) =>
      `'${process.execPath}' -e 'setTimeout(() => require("net").createServer().listen(${port}, "${address}"), 200)'`;

    shellContract("resolves when the port is listened on, by IPv4 and IPv6", async () => {
      for (const address of ["127.0.0.1", "::1"]) {
        const port = await freePort();
        const { id } = await subject.processes.spawn(server(address, port));
        await subject.processes.waitForPort(id, port, { timeoutMs: LONG_MS });
        // At once, now.
        await subject.processes.waitForPort(id, port, { timeoutMs: 0 });
        await subject.processes.terminate(id, { graceMs: 0 });
      }
    });

    shellContract(
      "rejects when the process ends first, with exit code and last output",
      async () => {
        const port = await freePort();
        const { id } = await subject.processes.spawn("sleep 0.1; echo 'port in use' >&2; exit 4");
        await assert.rejects(subject.processes.waitForPort(id, port), {
          code: "not_ready",
          id,
          exitCode: 4,
          output: "port in use\n",
          message: new RegExp(`before port ${port} was listened on; .*: port in use$`),
        });
      },
    );

    shellContract("gives up by time, and the process goes on", async () => {
      const { id } = await subject.processes.spawn("sleep 600");
      const waiting = subject.processes.waitForPort(id, await freePort(), { timeoutMs: 100 });
      await assert.rejects(waiting, { code: "timeout", message: /port \d+ was waited for/ });
      assert.equal((await subject.processes.get(id)).status, "running");
    });
  });
}
