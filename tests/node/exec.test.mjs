// exec() against the real agent: exit codes, output, arguments, environment.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";
import { until } from "../support/processes.mjs";

describe("exec", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {import("sandpipe").Execs} */
  let execs;
  /** @type {string} */
  let workspace;

  /** @param {string} script */
  const sh = (script) => execs.exec("sh", ["-c", script]);

  before(async () => {
    workspace = await realpath(await mkdtemp(join(tmpdir(), "sandpipe-test-")));
    agent = await startAgent({ workspace });
    ({ execs } = await connect(agent));
  });
  after(async () => {
    await agent.stop();
    await rm(workspace, { recursive: true });
  });

  it("resolves the exit code and the output of both streams", async () => {
    const result = await execs.exec("sh", ["-c", "echo hello; echo oops >&2; exit 3"]);
    assert.deepEqual({ ...result }, { exitCode: 3, output: "hello\noops\n" });
  });

  it("needs neither AbortSignal.timeout nor performance.now", async (t) => {
    const fail = () => {
      throw new TypeError("it is not a function");
    };
    t.mock.method(AbortSignal, "timeout", fail);
    t.mock.method(performance, "now", fail);
    assert.deepEqual({ ...(await sh("echo hello; exit 3")) }, { exitCode: 3, output: "hello\n" });
  });

  it("joins stdout and stderr in order of arrival, whichever comes first", async () => {
    for (let i = 0; i < 50; i++) {
      assert.equal((await sh("echo a; echo b >&2")).output, "a\nb\n");
      assert.equal((await sh("echo b >&2; echo a")).output, "b\na\n");
    }
  });

  it("gives 127 and the reason for a command that does not exist", async () => {
    const { exitCode, output } = await execs.exec("no-such-command-xyz");
    assert.equal(exitCode, 127);
    assert.match(output, /no-such-command-xyz/);
  });

  it("gives 126 and the reason for a command that can't be executed", async () => {
    await writeFile(join(workspace, "not-executable"), "#!/bin/sh\n");
    for (const command of ["./not-executable", workspace]) {
      const { exitCode, output } = await execs.exec(command);
      assert.equal(exitCode, 126, command);
      assert.match(output, /Permission denied|Is a directory/);
    }
  });

  it("runs an executable of the workspace by its relative path", async () => {
    const script = join(workspace, "script");
    await writeFile(script, "#!/bin/sh\necho from $PWD\n");
    await chmod(script, 0o755);
    assert.equal((await execs.exec("./script")).output, `from ${workspace}\n`);
  });

  it("gives 128 + N after death by signal N", async () => {
    assert.equal((await sh("kill -9 $$")).exitCode, 137);
    assert.equal((await sh("kill -INT $$")).exitCode, 130);
    assert.equal((await sh("kill -TERM $$")).exitCode, 143);
  });

  it("hands over arguments byte for byte", async () => {
    const args = [
      "",
      " ",
      "a b",
      "'\"`$HOME\\",
      "line\nbreak\r\n",
      "-n",
      "--",
      "😀 é 𐍈 \u{7f}",
      "*",
    ];
    const print = 'for argument; do printf "%s\\0" "$argument"; done';
    const { output } = await execs.exec("sh", ["-c", print, "sh", ...args]);
    assert.deepEqual(output.split("\0").slice(0, -1), args);
  });

  it("hands over the environment byte for byte", async () => {
    const env = {
      EMPTY: "",
      SPACES: " a  b ",
      LINES: "a\nb\n",
      QUOTES: "'\"`$X\\",
      EMOJI: "😀é",
      "odd.name": "1",
    };
    const { output } = await execs.exec("env", ["-0"], { env });
    const seen = new Map(output.split("\0").map((line) => [line.split("=", 1)[0], line]));
    for (const [name, value] of Object.entries(env)) {
      assert.equal(seen.get(name), `${name}=${value}`);
    }
    assert.ok(seen.has("PATH"), "the agent's own environment is there, too");
  });

  it("keeps the agent's token from commands", async () => {
    const { output } = await execs.exec("env");
    assert.ok(!output.includes(agent.token));
    // Where a command can't have a cgroup of its own, such as an ordinary user's, it has a mark.
    assert.doesNotMatch(output, /^SANDPIPE_(?!EXEC=|NAMESPACE=)/m);
  });

  it("gives 126 and the reason for arguments and an environment that are too long", async () => {
    const long = "x".repeat(200_000);
    for (const result of [
      await execs.exec("true", [long]),
      await execs.exec("true", [], { env: { LONG: long } }),
      await execs.exec(
        "true",
        Array.from({ length: 50 }, () => "x".repeat(100_000)),
      ),
    ]) {
      assert.equal(result.exitCode, 126);
      assert.match(result.output, /too long/i);
    }
  });

  it("runs in the directory that it is told", async () => {
    assert.equal((await execs.exec("pwd")).output, `${workspace}\n`);
    assert.equal((await execs.exec("pwd", [], { cwd: "/" })).output, "/\n");
  });

  it("ends at once with what was written, although a background job holds the pipe", async () => {
    const { exitCode, output } = await sh("sleep 60 & echo $!");
    assert.equal(exitCode, 0);
    const sleeper = `/proc/${output.trim()}`;
    assert.ok(existsSync(sleeper), "the job goes on");
    for (const exec of await execs.list()) await execs.delete(exec.id);
    assert.ok(!existsSync(sleeper), "until its exec is deleted");
  });

  it("gives a command end-of-file on its stdin, also in a terminal", async () => {
    assert.deepEqual({ ...(await execs.exec("cat")) }, { exitCode: 0, output: "" });
    const { exitCode } = await execs.exec("cat", [], { pty: true });
    assert.equal(exitCode, 0);
  });

  it("runs in a terminal when asked for", async () => {
    const script =
      "tty; test -t 0 && test -t 1 && test -t 2 && echo terminal; echo $TERM; stty size";
    const { exitCode, output } = await execs.exec("sh", ["-c", script], { pty: true });
    assert.equal(exitCode, 0);
    assert.match(output, /^\/dev\/pts\/\d+\r\nterminal\r\nxterm-256color\r\n24 80\r\n/);
    assert.match((await execs.exec("ls", ["--color=auto", "/"], { pty: true })).output, /\x1b\[/);
  });

  it("runs 200 at once, each with its own code and output", async () => {
    const runs = Array.from({ length: 200 }, async (_, i) => {
      const { exitCode, output } = await sh(`echo out ${i}; echo err ${i} >&2; exit ${i}`);
      assert.deepEqual({ exitCode, output }, { exitCode: i, output: `out ${i}\nerr ${i}\n` });
    });
    await Promise.all(runs);
  });

  it("reports each event to onOutput, in order", async () => {
    /** @type {import("sandpipe").ExecStdout[]} */
    const events = [];
    const { output } = await execs.exec("sh", ["-c", "echo a; echo b >&2; exit 4"], {
      onOutput: (event) => events.push(event),
    });
    assert.equal(events.map((event) => event.output).join(""), output);
    assert.deepEqual(
      events.map((event) => event.sequence),
      events.map((_, index) => index + 1),
    );
    assert.equal(events.find((event) => event.output === "b\n")?.type, "stderr");
    assert.equal(events.at(-1)?.exitCode, 4);
    assert.ok(!Number.isNaN(Date.parse(events[0]?.timestamp ?? "")));
  });

  it("brings all of the input to a command although onOutput throws", async () => {
    const script = "echo first; wc -c > count.new; mv count.new count";
    const onOutput = () => {
      throw new Error("the caller's own");
    };
    const input = "x".repeat(5_000_000);
    await assert.rejects(execs.exec("sh", ["-c", script], { input, onOutput }), /caller's own/);
    await until(() => existsSync(join(workspace, "count")));
    assert.equal((await readFile(join(workspace, "count"), "utf8")).trim(), "5000000");
  });

  it("rejects with what onOutput throws", async () => {
    const error = new Error("enough");
    const onOutput = () => {
      throw error;
    };
    await assert.rejects(execs.exec("echo", ["a"], { onOutput }), (thrown) => thrown === error);
  });
});
