// @ts-check
// What a sandbox and this machine are as runtimes.
import assert from "node:assert/strict";
import { existsSync, rmSync, writeFileSync } from "node:fs";
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

import { idsOfAgent, marked, marker, until } from "../support/processes.mjs";
import { temporaryDirectory } from "../support/target.mjs";

/** @import { Runtime, Sandbox } from "sandpipe" */

/** Three times as long as an argument may be, and longer than what one request brings to a stdin. */
const LONG = `# ${'it\'s "long" 😀\n# '.repeat(100_000)}\n`;

/** @param {() => Runtime} runtime */
function runsScripts(runtime) {
  it("gives the exit code and the output, whatever the script's length", async () => {
    for (const padding of ["", LONG]) {
      const script = `${padding}cat; echo "$#" it\\'s; echo err >&2; exit 42 # the end`;
      assert.deepEqual(await runtime().run(script), { exitCode: 42, output: "0 it's\nerr\n" });
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
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {Sandbox} */
  let sandbox;

  before(async () => {
    agent = await startAgent({ args: ["--without", "stdin-eof"] });
    sandbox = await connect(agent);
  });
  after(() => agent.stop());

  runsScripts(() => sandbox);

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

    const baseDir = temporaryDirectory();
    const processes = background(sandbox, { baseDir });
    const { id } = await processes.spawn("sleep 600");
    assert.equal((await processes.list()).length, 1);
    await processes.readOutput(id, { waitMs: 50 });
    await processes.terminate(id);
    await processes.remove(id);
    assert.equal((await sandbox.execs.list()).length, known);
    rmSync(baseDir, { recursive: true });
  });

  it("names the command that it has lost with the agent", async () => {
    const baseDir = temporaryDirectory();
    const here = background(localRuntime(), { baseDir });
    for (const signal of ["SIGTERM", "SIGKILL"]) {
      const agent = await startAgent();
      const sandbox = await connect({ ...agent, retry: { baseDelayMs: 1 } });
      const ids = await idsOfAgent((script) => sandbox.run(script));
      const running = background(sandbox, { baseDir }).run("sleep 600");
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
    rmSync(baseDir, { recursive: true });
  });
});

describe("localRuntime", () => {
  runsScripts(() => localRuntime());

  it("runs scripts with the shell that it is told", async () => {
    assert.equal((await localRuntime({ shell: "bash" }).run("echo ${BASH##*/}")).output, "bash\n");
    const shell = join(temporaryDirectory(), "none");
    await assert.rejects(localRuntime({ shell }).run("true"), { code: "ENOENT" });
  });

  it("runs nothing of a long script that is cut on its way", async () => {
    const directory = temporaryDirectory();
    const shell = join(directory, "cutting");
    writeFileSync(shell, '#!/bin/sh\nhead -c 200000 | sh "$@"\n', { mode: 0o755 });
    const { exitCode, output } = await localRuntime({ shell }).run(`echo begun\n${LONG}`);
    assert.deepEqual([exitCode, output], [125, "the script was cut on its way to the shell\n"]);
    rmSync(directory, { recursive: true });
  });

  it("lets a script that is aborted tidy up", async () => {
    const stop = new AbortController();
    const file = join(temporaryDirectory(), "tidied");
    const script = `trap 'sleep 0.2; : > ${file}; exit' TERM; echo > ${file}.up; while :; do sleep 0.01; done`;
    const running = localRuntime().run(script, { signal: stop.signal });
    await until(() => existsSync(`${file}.up`));
    stop.abort();
    await assert.rejects(running, { name: "AbortError" });
    assert.ok(existsSync(file));
  });

  it("kills what ignores that, and all that the script has started", async () => {
    const mark = marker();
    const [name] = Object.keys(mark);
    const stop = new AbortController();
    const reason = new Error("enough");
    const script = `export ${name}=1; trap '' TERM; sleep 600 & sleep 600`;
    const running = localRuntime().run(script, { signal: stop.signal });
    await until(() => marked(mark).length > 1);
    stop.abort(reason);
    await assert.rejects(running, (error) => error === reason);
    await until(() => marked(mark).length === 0);
    await assert.rejects(
      localRuntime().run("true", { signal: stop.signal }),
      (error) => error === reason,
    );
  });
});
