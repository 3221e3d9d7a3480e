// @ts-check
// What a sandbox and this machine are as runtimes.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import {
  background,
  BackgroundError,
  connect,
  InterruptedError,
  InvalidArgumentError,
  SandpipeError,
} from "sandpipe";
import { localRuntime, startAgent } from "sandpipe/node";

import { holdTimers } from "../support/held-timers.mjs";
import { idsOfAgent, marked, marker, until } from "../support/processes.mjs";
import { directoryOfTests } from "../support/target.mjs";
import { inTime } from "./in-time.mjs";
import { interruptedBy } from "../support/interrupted.mjs";

/** @import { Runtime, Sandbox } from "sandpipe" */

/** The grace period of a script that is aborted, in milliseconds. */
const GRACE_MS = 10_000;

/** Three times as long as an argument may be, and longer than what one request brings to a stdin. */
const LONG = `# ${'it\'s "long" 😀\n# '.repeat(100_000)}\n`;

/**
 * @param {() => Runtime} runtime
 * @param {{ apart?: boolean }} [options] `apart`: stdout and stderr are read apart, in no order
 */
function runsScripts(runtime, { apart = false } = {}) {
  it("gives the exit code and the output, whatever the script's length", async () => {
    for (const padding of ["", LONG]) {
      const script = `${padding}cat; echo "$#" it\\'s; echo err >&2; exit 42 # the end`;
      const { exitCode: code, output } = await runtime().run(script);
      const lines = output.split("\n");
      assert.deepEqual(
        [code, ...(apart ? lines.sort() : lines)],
        apart ? [42, "", "0 it's", "err"] : [42, "0 it's", "err", ""],
      );
      const { exitCode } = await runtime().run(`${padding}if true; then (`);
      assert.ok(exitCode === 1 || exitCode === 2, String(exitCode));
      assert.equal((await runtime().run(`${padding}kill -9 $$`)).exitCode, 137);
    }
  });

  it("loses nothing of what was written before the end", async () => {
    const script = "head -c 150000 /dev/zero | tr '\\0' x; printf end";
    const results = await Promise.all(Array.from({ length: 20 }, () => runtime().run(script)));
    for (const { output } of results) {
      assert.deepEqual([output.length, output.slice(-4)], [150_003, "xend"]);
    }
  });

  it("ends with the shell, whoever holds its output open", async () => {
    const mark = marker();
    const [name = ""] = Object.keys(mark);
    const { output } = await runtime().run(`export ${name}=1; sleep 600 & seq 1 100000`);
    assert.equal(output.length, 588_895);
    for (const pid of marked(mark)) process.kill(Number(pid), "SIGKILL");
  });
}

describe("sandbox.run", () => {
  const { directory } = directoryOfTests();
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {Sandbox} */
  let sandbox;

  before(async () => {
    agent = await startAgent({ args: ["--without", "stdin-eof"] });
    sandbox = inTime(await connect(agent));
  });
  after(() => agent.stop());

  runsScripts(() => sandbox, { apart: true });

  it("stops the script and all that it has started when it is aborted", async () => {
    const mark = marker();
    const [name] = Object.keys(mark);
    for (const padding of ["", LONG]) {
      const stop = new AbortController();
      const script = `${padding}export ${name}=1; sleep 600 & sleep 600`;
      const running = sandbox.run(script, { signal: stop.signal });
      await until(() => marked(mark).length > 0);
      stop.abort();
      await assert.rejects(running, (error) => error instanceof InterruptedError);
      assert.deepEqual(marked(mark), []);
    }
  });

  it("says what is wrong with an argument", async () => {
    for (const call of [
      () => sandbox.run("a\0b"),
      () => sandbox.run(/** @type {any} */ (1)),
      () => sandbox.run("true", /** @type {any} */ ({ timeoutMs: 1 })),
    ]) {
      await assert.rejects(call, InvalidArgumentError);
    }
  });

  it("leaves no execs of background processes behind", async () => {
    const known = (await sandbox.execs.list()).length;
    assert.deepEqual(await sandbox.background.run("exit 4"), { output: "", exitCode: 4 });
    assert.equal((await sandbox.execs.list()).length, known);

    const processes = inTime(background(sandbox, { baseDir: join(directory, "forgotten") }));
    const { id } = await processes.spawn("sleep 600");
    assert.equal((await processes.list()).length, 1);
    await processes.readOutput(id, { waitMs: 50 });
    await processes.terminate(id);
    await processes.remove(id);
    assert.equal((await sandbox.execs.list()).length, known);
  });

  it("names the command that it has lost with the agent", async (t) => {
    const baseDir = join(directory, "lost");
    const place = { baseDir, namespace: "lost" };
    const here = inTime(background(localRuntime(), place));
    for (const signal of ["SIGTERM", "SIGKILL"]) {
      const agent = await startAgent();
      t.after(() => agent.stop());
      const sandbox = await connect({ ...agent, retry: { baseDelayMs: 1 } });
      const ids = await idsOfAgent((script) => sandbox.run(script));
      const running = inTime(background(sandbox, place)).run("sleep 600");
      const lost = assert.rejects(running, (error) => {
        assert.ok(error instanceof BackgroundError, String(error));
        assert.match(error.id ?? "", /./);
        // What is stopped in good order still says so.
        if (signal === "SIGKILL") assert.ok(error.cause instanceof SandpipeError);
        id = error.id;
        return true;
      });
      /** @type {string | undefined} */
      let id;
      await until(async () => (await here.list()).length === 1);
      process.kill(Number(ids.agent), signal);
      await lost;
      await agent.stop();
      assert.equal((await here.get(id ?? "")).status, "running");
      await here.terminate(id ?? "");
      await here.remove(id ?? "");
    }
  });
});

describe("localRuntime", () => {
  const { directory, subdirectory } = directoryOfTests();
  const local = inTime(localRuntime());

  runsScripts(() => local);

  it("runs scripts with the shell that it is told", async () => {
    assert.equal((await localRuntime({ shell: "bash" }).run("echo ${BASH##*/}")).output, "bash\n");
    const shell = join(directory, "none");
    await assert.rejects(localRuntime({ shell }).run("true"), {
      code: "system",
      errno: "ENOENT",
      mayHaveRun: false,
    });
  });

  it("runs nothing of a long script that is cut on its way", async () => {
    const shell = join(directory, "cutting");
    writeFileSync(shell, '#!/bin/sh\nhead -c 200000 | sh "$@"\n', { mode: 0o755 });
    const cutting = inTime(localRuntime({ shell }));
    const { exitCode, output } = await cutting.run(`echo begun\n${LONG}`);
    assert.deepEqual([exitCode, output], [125, "the script was cut on its way to the shell\n"]);
  });

  it("lets a script that is aborted tidy up", async () => {
    const place = subdirectory("tidy");
    const [up, told, go] = [join(place, "up"), join(place, "told"), join(place, "go")];
    const stop = new AbortController();
    const script = `tidy() { : >'${told}'; until [ -e '${go}' ]; do sleep 0.01; done; exit; }
      trap tidy TERM; : >'${up}'; while :; do sleep 0.01; done`;
    let isOver = false;
    const rejected = assert.rejects(local.run(script, { signal: stop.signal }), {
      name: "AbortError",
    });
    void rejected.then(() => (isOver = true));
    await until(() => existsSync(up));
    stop.abort();
    await until(() => existsSync(told));
    assert.ok(!isOver);
    writeFileSync(go, "");
    await rejected;
  });

  it("kills what ignores SIGTERM after the grace period, with all that the script has started", async (t) => {
    const mark = marker();
    const [name] = Object.keys(mark);
    const place = subdirectory("stubborn");
    const [ready, told] = [join(place, "ready"), join(place, "told")];
    const stop = new AbortController();
    const reason = new Error("enough");
    const script = `export ${name}=1; (trap '' TERM; : >'${ready}'; sleep 600) &
      trap ": >'${told}'" TERM; while :; do sleep 0.02; done`;
    const rejected = assert.rejects(
      local.run(script, { signal: stop.signal }),
      interruptedBy(reason),
    );
    await until(() => existsSync(ready) && marked(mark).length > 1);
    // It holds the clock, and no timers.
    const clock = holdTimers(Infinity);
    t.after(() => clock.restore());
    stop.abort(reason);
    await until(() => existsSync(told));
    clock.pass(GRACE_MS - 1);
    assert.ok(marked(mark).length > 0);
    clock.pass(1);
    await rejected;
    assert.deepEqual(marked(mark), []);
    await assert.rejects(local.run("true", { signal: stop.signal }), interruptedBy(reason));
  });
});
