// @ts-check
// One signal may be given to any number of calls at once.
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { connect, isSandpipeError } from "sandpipe";
import { localRuntime, startAgent, upload } from "sandpipe/node";

import { interruptedBy } from "../support/interrupted.mjs";
import { failure } from "../support/script.mjs";

const CALLS = 12;

describe("a signal of many calls", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {import("sandpipe").Sandbox} */
  let sandbox;
  /** @type {string} */
  let directory;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "sandpipe-signal-"));
    agent = await startAgent({ workspace: directory });
    sandbox = await connect(agent);
  });
  after(async () => {
    sandbox.close();
    await agent.stop();
    await rm(directory, { recursive: true });
  });

  it("brings no warning, ends them all, and has no listener afterwards", async () => {
    /** @type {Error[]} */
    const warnings = [];
    /** @param {Error} warning */
    const note = (warning) => warnings.push(warning);
    process.on("warning", note);
    const stop = new AbortController();
    const { signal } = stop;
    const local = localRuntime();
    const { execs, files } = sandbox;
    /** @type {Promise<string>[]} */
    const begun = [];
    /** @type {Promise<unknown>[]} */
    const running = [];
    for (let call = 0; call < CALLS; call += 1) {
      /** @type {(output: string) => void} */
      let output = () => {};
      begun.push(new Promise((resolve) => (output = resolve)));
      const onOutput = (/** @type {{ output: string }} */ event) => output(event.output);
      running.push(execs.exec("sh", ["-c", "echo begun; exec sleep 600"], { signal, onOutput }));
      running.push(local.run("sleep 600", { signal }));
      const stream = /** @type {ReadableStream} */ (files.readStream("/dev/zero", { signal }));
      running.push(stream.getReader().closed);
      running.push(files.watch(directory, { signal }).next());
    }
    await Promise.all(begun);
    // Warnings come in a later turn.
    await new Promise(setImmediate);
    assert.equal(getEventListeners(signal, "abort").length, 1);
    const reason = new Error("enough");
    stop.abort(reason);
    const outcomes = await Promise.allSettled(running);
    process.off("warning", note);
    for (const outcome of outcomes) {
      assert.ok(outcome.status === "rejected" && interruptedBy(reason)(outcome.reason));
    }
    assert.deepEqual(warnings, []);
    assert.equal(getEventListeners(signal, "abort").length, 0);
  });

  it("leaves no listener where the calls end by themselves", async () => {
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: CALLS }, () => sandbox.run("true", { signal })));
    assert.deepEqual(getEventListeners(signal, "abort"), []);
  });
});

describe("a call that fails", () => {
  it("rejects with a SandpipeError, whoever refuses it", async () => {
    const directory = await mkdtemp(join(tmpdir(), "sandpipe-errors-"));
    const agent = await startAgent({ workspace: directory });
    const sandbox = await connect(agent);
    try {
      const missing = await failure(upload(sandbox, join(directory, "none"), "f"));
      assert.ok(isSandpipeError(missing, "system"));
      assert.equal(missing.errno, "ENOENT");
      assert.match(missing.message, /^ENOENT: no such file or directory/);
      assert.equal(/** @type {NodeJS.ErrnoException} */ (missing.cause).code, "ENOENT");
      const noShell = await failure(localRuntime({ shell: "nosuch" }).run("true"));
      assert.ok(isSandpipeError(noShell, "system"));
      assert.equal(noShell.mayHaveRun, false);
      assert.equal(noShell.message, "there is no nosuch in PATH");
      const signal = AbortSignal.abort("enough");
      const { execs, files, ports } = sandbox;
      for (const call of [
        () => files.read("f", { signal }),
        () => files.bytes("f", { signal }),
        () => files.write("f", "", { signal }),
        () => files.list(".", { signal }),
        () => files.readStream("f", { signal }).getReader().read(),
        () => files.watch(".", { signal }).next(),
        () => ports.waitFor(1, { signal }),
        () => execs.streamList({ signal }).next(),
        () => execs.streamOutput("1", 0, { signal }).next(),
        () => execs.waitForOutput("1", "x", { signal }),
        () => sandbox.run("true", { signal }),
        () => sandbox.background.wait("1", { signal }),
        () => localRuntime().run("true", { signal }),
        () => upload(sandbox, directory, "f", { signal }),
      ]) {
        const error = await failure(call());
        assert.ok(interruptedBy("enough")(error), `${String(call)}: ${String(error)}`);
        assert.equal(error.name, "AbortError");
      }
    } finally {
      sandbox.close();
      await agent.stop();
      await rm(directory, { recursive: true });
    }
  });
});
