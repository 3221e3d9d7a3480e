// @ts-check
// `sandpipe bg logs` and `wait`: what becomes of processes that outlive the program.
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { installWithProcesses } from "./background-processes.mjs";
import { until } from "../support/processes.mjs";

const { sandpipe, env, processes, bg, start, says, remove } = await installWithProcesses();
after(remove);

describe("sandpipe bg logs", () => {
  it("shows what there is, of both streams, one of them, the end or some lines", async () => {
    const id = await start("echo one; echo two; echo three >&2; exit 3");
    await processes.wait(id);
    const shown = async (/** @type {string[]} */ ...options) => {
      const { exitCode, stdout, stderr } = await bg("logs", ...options, id.slice(0, 8));
      assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: "" });
      return stdout;
    };
    assert.equal(await shown(), "one\ntwo\nthree\n");
    assert.equal(await shown("--stream", "stdout"), "one\ntwo\n");
    assert.equal(await shown("--stream", "stderr"), "three\n");
    assert.equal(await shown("--grep", "^t"), "two\nthree\n");
    assert.equal(await shown("--tail", "9"), "o\nthree\n".padStart(9, "w"));
    assert.equal(await shown("-f", "--tail", "6"), "three\n");
  });

  it("shows all of much, and ends although the process goes on writing", async () => {
    const id = await start(
      "head -c 5000000 /dev/zero | tr '\\0' x; echo; echo ready; while :; do echo more; done",
    );
    await until(async () => {
      const { output } = await processes.readOutput(id, { offset: 5_000_000 });
      return output.includes("ready");
    });
    const { exitCode, stdout } = await bg("logs", id);
    await processes.terminate(id, { graceMs: 0 });
    assert.equal(exitCode, 0);
    assert.ok(stdout.startsWith(`${"x".repeat(5_000_000)}\nready\n`), stdout.slice(-200));
  });

  it("follows to the end", async () => {
    const file = join(sandpipe.path, "go-on");
    const id = await start(
      `echo ready; until [ -e '${file}' ]; do sleep 0.05; done; echo done; exit 3`,
    );
    const invocation = await sandpipe.start(["bg", "logs", "-f", id], { env });
    await invocation.says("ready\n");
    await writeFile(file, "");
    const { exitCode, stdout } = await invocation.end;
    assert.deepEqual({ exitCode, stdout }, { exitCode: 0, stdout: "ready\ndone\n" });
    await rm(file);
  });

  it("ends the watching, not the process, on Ctrl+C, and leaves nothing of itself", async () => {
    const id = await start("echo ready; sleep 1000");
    const invocation = await sandpipe.startInTerminal(["bg", "logs", "-f", id], { env });
    await invocation.says("ready");
    invocation.stdin.write("\x03");
    assert.match((await invocation.end).stdout, /exit code 130\r\nrestored\r\n$/);
    await invocation.leavesNothing();
    assert.equal((await processes.get(id)).status, "running");
    await processes.terminate(id);
  });

  it("ends silently with 141 when nobody reads it any more", async () => {
    const id = await start("echo ready; while :; do echo more; sleep 0.01; done");
    const script = `{ sandpipe bg logs -f ${id}; echo $? >&2; } | head -1`;
    const { stdout, stderr } = await (await sandpipe.startInShell(script, { env })).end;
    assert.deepEqual({ stdout, stderr }, { stdout: "ready\n", stderr: "141\n" });
    await processes.terminate(id);
  });

  it("ends with one line of explanation for what is wrong", async () => {
    const id = await start("true");
    for (const [options, code, says] of /** @type {[string[], number, RegExp][]} */ ([
      [["--grep", "(", id], 2, /--grep must be a regular expression/],
      [["--stream", "all", id], 2, /stdout, stderr or both, but is "all"/],
      [["no-such"], 125, /no process has the id "no-such".*sandpipe bg ls/],
    ])) {
      const { exitCode, stdout, stderr } = await bg("logs", ...options);
      assert.deepEqual({ exitCode, stdout }, { exitCode: code, stdout: "" });
      assert.match(stderr, /^sandpipe: .*\n$/);
      assert.match(stderr, says);
    }
  });
});

describe("sandpipe bg wait", () => {
  it("ends with the process's exit code", async () => {
    assert.equal((await bg("wait", await start("exit 42"))).exitCode, 42);
    assert.equal((await bg("wait", await start("kill -KILL $$"))).exitCode, 137);
  });

  it("ends with 124 when its timeout has passed, and the process goes on", async () => {
    const id = await start("sleep 1000");
    const { exitCode, stderr } = await bg("wait", "--timeout", "0.2", id);
    assert.deepEqual(
      { exitCode, stderr },
      { exitCode: 124, stderr: `sandpipe: process ${id} still runs.\n` },
    );
    assert.equal((await processes.get(id)).status, "running");
    await processes.terminate(id);
  });

  it("tells on a terminal that it waits; Ctrl+C ends that, and leaves nothing of it", async () => {
    const id = await start("sleep 1000");
    const invocation = await sandpipe.startInTerminal(["bg", "wait", id], { env });
    await invocation.says(/\rwaiting for [0-9a-f]+: \d+ s\x1b\[K/);
    invocation.stdin.write("\x03");
    assert.match((await invocation.end).stdout, /\r\x1b\[Kexit code 130\r\nrestored\r\n$/);
    await invocation.leavesNothing();
    assert.equal((await processes.get(id)).status, "running");
    await processes.terminate(id);
  });

  it("ends with 125 where nobody knows how the process ended", async () => {
    const id = await start("echo ready; sleep 1000");
    await says(id, "ready");
    const { pid } = await processes.get(id);
    process.kill(pid, "SIGKILL");
    const { exitCode, stderr } = await bg("wait", id);
    assert.equal(exitCode, 125);
    assert.match(stderr, /^sandpipe: process .* is gone, and how it ended is not known\.\n$/);
    await processes.terminate(id);
  });
});
