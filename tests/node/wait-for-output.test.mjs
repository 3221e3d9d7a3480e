// Waiting for a text in the output of an exec.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { connect, isSandpipeError } from "sandpipe";
import { startAgent } from "sandpipe/node";
import { interruptedBy } from "../support/interrupted.mjs";

describe("waitForOutput", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {import("sandpipe").Execs} */
  let execs;

  before(async () => {
    agent = await startAgent();
    ({ execs } = await connect(agent));
  });
  after(() => agent.stop());

  /** Begins a script that stays until it has read a line. @param {string} script */
  const begin = async (script) => {
    const args = ["-c", `${script}\nread -r line; echo "$line"`];
    return (await execs.create({ command: "sh", args })).id;
  };
  /** @param {string} id @param {string} text */
  const type = (id, text) => execs.sendStdin(id, { input: text });

  it("finds a string that has come already, and one that comes", async () => {
    const id = await begin("echo listening on 80; echo broken >&2");
    const { match, event } = await execs.waitForOutput(id, "listening on");
    assert.equal(match, "listening on");
    assert.deepEqual(
      [event.type, event.output, event.sequence > 0],
      ["stdout", "listening on 80\n", true],
    );
    const inStderr = await execs.waitForOutput(id, "broken");
    assert.equal(inStderr.event.type, "stderr");
    const coming = execs.waitForOutput(id, "now");
    await type(id, "now\n");
    assert.equal((await coming).event.output, "now\n");
  });

  it("finds what a RegExp does, with its groups, and leaves the RegExp as it is", async () => {
    const id = await begin("echo 'Local: http://localhost:5173/'");
    for (const flags of ["", "g", "y", "gi", "m", "u"]) {
      const expression = new RegExp("localhost:(?<port>\\d+)", flags);
      expression.lastIndex = 3;
      for (let time = 0; time < 2; time += 1) {
        const { match } = await execs.waitForOutput(id, expression);
        assert.deepEqual([match[0], match.groups?.["port"]], ["localhost:5173", "5173"], flags);
      }
      assert.equal(expression.lastIndex, 3);
    }
  });

  it("finds text that is cut into events, in one stream, and waits for the rest of a number", async () => {
    const script = `
      printf 'rea'; printf 'dy' >&2; sleep 0.3; printf 'dy on port 51'; sleep 0.02; printf '73 \\360\\237'
      sleep 0.3; printf '\\230\\200 done'`;
    const id = await begin(script);
    const ready = await execs.waitForOutput(id, "ready");
    assert.equal(ready.event.type, "stdout");
    // It is waited for 100 ms alone, and may take longer to come: here both parts are there.
    await execs.waitForOutput(id, "5173 ");
    const { match } = await execs.waitForOutput(id, /port (\d+)/);
    assert.equal(match[1], "5173");
    assert.equal((await execs.waitForOutput(id, /\u{1F600} do(ne)?$/u)).match[1], "ne");
  });

  it("has what a RegExp finds at the very end of an output", async () => {
    const script = "printf 'port 51'; sleep 0.02; printf 73";
    const { id } = await execs.create({ command: "sh", args: ["-c", script] });
    await execs.waitForOutput(id, "5173");
    assert.equal((await execs.waitForOutput(id, /port (\d+)/)).match[1], "5173");
    await execs.wait(id);
    assert.equal((await execs.waitForOutput(id, /port (\d+)/)).match[1], "5173");
  });

  it("knows the beginning of the output and of lines, however much there is", async () => {
    const id = await begin("yes 'no line: x' | head -n 40000; echo 'line: y'");
    assert.equal((await execs.waitForOutput(id, /^line: (.)/m)).match[1], "y");
    const beginning = execs.waitForOutput(id, /^line/, { timeoutMs: 300 });
    await assert.rejects(beginning, { code: "timeout" });
    assert.equal((await execs.waitForOutput(id, /^no/)).event.sequence, 1);
  });

  it("rejects at once when the process ends without it, with exit code and last output", async () => {
    const id = await begin("seq 1 5000; echo 'Error: port in use'; exit 3");
    await assert.rejects(execs.waitForOutput(id, /ready/), (error) => {
      assert(isSandpipeError(error, "not_ready"));
      assert.deepEqual([error.execId, error.exitCode, error.id], [id, 3, undefined]);
      assert(error.output.endsWith("5000\nError: port in use\n"));
      assert(error.output.length <= 4096);
      assert.match(
        error.message,
        /ended with exit code 3 before \/ready\/ was in its output; .*: Error: port in use$/,
      );
      return true;
    });
    const waiting = await begin("echo started");
    const rejected = assert.rejects(execs.waitForOutput(waiting, "never"), {
      code: "not_ready",
      exitCode: 0,
      output: "started\ngo\n",
    });
    await execs.waitForOutput(waiting, "started");
    await type(waiting, "go\n");
    await rejected;
  });

  it("gives up by time and by signal, and leaves the process alone", async () => {
    const id = await begin("echo started");
    await execs.waitForOutput(id, "started");
    await assert.rejects(execs.waitForOutput(id, "never", { timeoutMs: 200 }), (error) => {
      assert(isSandpipeError(error, "timeout"));
      assert.deepEqual([error.execId, error.exitCode, error.forced], [id, 124, false]);
      // The time may be over before it has been read.
      assert.ok("started\n".startsWith(String(error.output)));
      assert.match(error.message, /"never" in the output of exec .* did not come within 200 ms/);
      return true;
    });
    const controller = new AbortController();
    const aborted = execs.waitForOutput(id, "never", { signal: controller.signal });
    const reason = new Error("enough");
    setTimeout(() => controller.abort(reason), 50);
    await assert.rejects(aborted, interruptedBy(reason));
    assert.equal((await execs.get(id)).status, "RUNNING");
    await type(id, "still here\n");
    assert.equal((await execs.waitForOutput(id, "still here")).match, "still here");
  });

  it("begins where it is told to", async () => {
    const id = await begin("echo one; sleep 0.05; echo two");
    const { event } = await execs.waitForOutput(id, "one");
    await execs.waitForOutput(id, "two");
    const { sequence: lastSequence } = event;
    const missing = execs.waitForOutput(id, "one", { lastSequence, timeoutMs: 200 });
    await assert.rejects(missing, { code: "timeout" });
    assert.equal((await execs.waitForOutput(id, "two", { lastSequence: -1 })).match, "two");
  });

  it("says what is wrong with its arguments, and passes on what is thrown", async () => {
    const id = await begin("echo x");
    for (const wrong of ["", 7, null, {}, { exec() {}, source: 1, flags: "" }]) {
      await assert.rejects(execs.waitForOutput(id, /** @type {any} */ (wrong)), {
        code: "invalid_argument",
        message: /`pattern` must be/,
      });
    }
    await assert.rejects(execs.waitForOutput(id, "x", /** @type {any} */ ({ timeout: 1 })), {
      code: "invalid_argument",
    });
    await assert.rejects(execs.waitForOutput("no-such-exec", "x"), { status: 404 });
  });
});
