// @ts-check
// `sandpipe forward` and `sandpipe wait-port`.
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { freePort } from "../support/free-port.mjs";
import { until } from "../support/processes.mjs";
import { installWithAgent } from "./with-agent.mjs";

const { sandpipe, execs, env, run, remove } = await installWithAgent();
after(remove);

/** A server in the sandbox, which may begin late. @param {number} port @param {string} [before] */
const serve = (port, before = "") =>
  execs.create({
    command: "sh",
    args: [
      "-c",
      `${before} exec '${process.execPath}' -e 'require("http").createServer((_, answer) => answer.end("hello")).listen(${port}, "127.0.0.1")'`,
    ],
  });

describe("sandpipe wait-port", () => {
  it("waits until something listens", async () => {
    const port = await freePort();
    const waiting = run("wait-port", String(port));
    const { id } = await serve(port);
    const end = await waiting;
    assert.deepEqual(end, { exitCode: 0, signal: null, stdout: "", stderr: "" });
    await execs.terminate(id);
  });

  it("gives up after its timeout, with 124", async () => {
    const port = await freePort();
    const { exitCode, stderr } = await run("wait-port", "--timeout", "0.1", String(port));
    assert.equal(exitCode, 124);
    assert.equal(stderr, `sandpipe: nothing listens on port ${port} yet.\n`);
  });

  it("gives up when the command that is to listen has ended, with its exit code and output", async () => {
    const port = await freePort();
    const { id } = await execs.create({ command: "sh", args: ["-c", "echo no room >&2; exit 3"] });
    const args = ["wait-port", "--exec", id.slice(0, 20), String(port)];
    const { exitCode, stderr } = await run(...args);
    assert.equal(exitCode, 1);
    assert.match(stderr, /^sandpipe: .*exit code 3.*no room.*\n$/);
    const unknown = await run("wait-port", "--exec", "none", String(port));
    assert.equal(unknown.exitCode, 125);
    assert.match(unknown.stderr, /no exec has the id "none"/);
  });

  it("ends by Ctrl+C, and the command goes on", async () => {
    const { id } = await execs.create({ command: "sleep", args: ["600"] });
    const args = ["wait-port", "--exec", id, String(await freePort())];
    const invocation = await sandpipe.startInTerminal(args, { env });
    await invocation.says(/waiting for port \d+/);
    invocation.stdin.write("\x03");
    assert.match((await invocation.end).stdout, /exit code 130\r\nrestored\r\n$/);
    await invocation.leavesNothing();
    assert.equal((await execs.get(id)).status, "RUNNING");
    await execs.terminate(id);
  });

  it("says which argument is wrong", async () => {
    for (const args of [["0"], ["65536"], ["http"], ["1", "2"], [], ["--timeout", "0", "1"]]) {
      const { exitCode, stderr } = await run("wait-port", ...args);
      assert.equal(exitCode, 2, stderr);
      assert.match(stderr, /See `sandpipe wait-port --help`/);
    }
  });
});

describe("sandpipe forward", () => {
  it("reaches servers in the sandbox, also such that begin to listen later", async () => {
    const [port, late] = [await freePort(), await freePort()];
    const { id } = await serve(port);
    assert.equal((await run("wait-port", String(port))).exitCode, 0);
    const invocation = await sandpipe.start(["forward", `0:${port}`, `0:${late}`], { env });
    await invocation.says(new RegExp(`-> ${late}\\n`));
    const lines = invocation.stdout.trimEnd().split("\n");
    const [here, hereLate] = lines.map((line) => /^127\.0\.0\.1:(\d+) -> \d+$/.exec(line)?.[1]);
    assert.equal(await (await fetch(`http://127.0.0.1:${here}/`)).text(), "hello");
    await assert.rejects(fetch(`http://127.0.0.1:${hereLate}/`));
    const refused = /sandpipe: forward port: the agent answered 502: .*\n/;
    await until(() => refused.test(invocation.stderr));
    assert.match(
      invocation.stderr,
      new RegExp(`^sandpipe: nothing listens on port ${late} in the sandbox yet\\.\\n`),
    );
    const { id: other } = await serve(late);
    assert.equal((await run("wait-port", String(late))).exitCode, 0);
    assert.equal(await (await fetch(`http://127.0.0.1:${hereLate}/`)).text(), "hello");
    invocation.child.kill("SIGINT");
    assert.equal((await invocation.end).signal, "SIGINT");
    await invocation.leavesNothing();
    await assert.rejects(fetch(`http://127.0.0.1:${here}/`));
    await Promise.all([id, other].map((one) => execs.terminate(one)));
  });

  it("takes the port here that it is told, or says that it is taken", async () => {
    const [here, there] = [await freePort(), await freePort()];
    const first = await sandpipe.start(["forward", `${here}:${there}`], { env });
    await first.says(`127.0.0.1:${here} -> ${there}\n`);
    const { exitCode, stderr } = await run("forward", `${here}:${there}`);
    assert.equal(exitCode, 125);
    assert.match(stderr, new RegExp(`EADDRINUSE.*${here}`));
    // Without one it takes any other.
    const second = await sandpipe.start(["forward", "--host", "::1", String(there)], { env });
    await until(() => second.stdout === `[::1]:${there} -> ${there}\n`);
    for (const one of [first, second]) {
      one.child.kill("SIGTERM");
      assert.equal((await one.end).signal, "SIGTERM");
    }
  });

  it("says what is wrong at once", async () => {
    for (const [args, message] of /** @type {const} */ ([
      [["1:2:3"], /a port must be like 5173 or 8080:80, but is "1:2:3"/],
      [["http"], /PORT must be a port from 1 to 65535, but is "http"/],
      [["x:80"], /LOCAL must be a port from 1 to 65535, but is "x"/],
      [["80:0"], /PORT must be a port from 1 to 65535, but is "0"/],
      [["--host", "", "80"], /--host must not be empty/],
      [[], /missing required argument 'PORT'/],
    ])) {
      const { exitCode, stderr } = await run("forward", ...args);
      assert.equal(exitCode, 2, stderr);
      assert.match(stderr, message);
    }
    const wrong = { ...env, SANDPIPE_TOKEN: "wrong" };
    const refused = await sandpipe.run(["forward", "80"], { env: wrong });
    assert.equal(refused.exitCode, 125);
    assert.match(refused.stderr, /--token-file, or in SANDPIPE_TOKEN/);
  });
});
