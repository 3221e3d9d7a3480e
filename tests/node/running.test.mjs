// @ts-check
// A command that runs: its id, where its output goes, and what its result says.
import assert from "node:assert/strict";
import { execFile as execFileWith } from "node:child_process";
import { createWriteStream, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { inspect, promisify } from "node:util";

import { connect, isSandpipeError } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { failure } from "../support/script.mjs";

const execFile = promisify(execFileWith);

/** @type {Awaited<ReturnType<typeof startAgent>>} */
let agent;
/** @type {import("sandpipe").Sandbox} */
let sandbox;
/** @type {string} */
let directory;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), "sandpipe-running-"));
  agent = await startAgent({ workspace: directory });
  sandbox = await connect(agent);
});
after(async () => {
  sandbox.close();
  await agent.stop();
  await rm(directory, { recursive: true });
});

/** @param {string} script @param {import("sandpipe").ExecOptions} [options] */
const sh = (script, options) => sandbox.execs.exec("sh", ["-c", script], options);

describe("a command that runs", () => {
  it("has its id before it ends", async () => {
    const running = sh("exec sleep 600");
    const id = await running.id;
    assert.equal((await sandbox.execs.get(id)).status, "RUNNING");
    await sandbox.execs.kill(id, "SIGINT");
    assert.equal((await running).exitCode, 130);
  });

  it("has none where it was not started", async () => {
    const running = sandbox.execs.exec("true", [], { signal: AbortSignal.abort() });
    const error = await failure(running);
    assert.ok(isSandpipeError(error, "interrupted"));
    assert.equal(await failure(running.id), error);
    const wrong = sandbox.execs.exec(/** @type {any} */ (5));
    assert.ok(isSandpipeError(await failure(wrong), "invalid_argument"));
  });
});

describe("an error of a command", () => {
  it("is an unhandled rejection where nobody takes it, and none where somebody asked for the id", async () => {
    const text = `
      import { connect } from "sandpipe";
      const { execs } = await connect(${JSON.stringify({ url: agent.url, token: agent.token })});
      process.on("unhandledRejection", (error) => console.log("unhandled:", error.code));
      execs.exec("true", [], { timeout: 5 });
      execs.exec("true", [], { timeout: 5 }).id.catch((error) => console.log("taken:", error.code));`;
    const { stdout } = await execFile(process.execPath, ["--input-type=module", "-e", text]);
    const lines = stdout.trim().split("\n").sort();
    assert.deepEqual(lines, ["taken: invalid_argument", "unhandled: invalid_argument"]);
  });
});

describe("the output of a command", () => {
  it("is written to a file, and not kept", async () => {
    const file = join(directory, "out");
    const stdout = createWriteStream(file);
    const result = await sh("seq 1 50000; echo err >&2", { stdout });
    await new Promise((resolve) => stdout.end(() => resolve(undefined)));
    const all = Array.from({ length: 50_000 }, (_, index) => `${index + 1}\n`).join("");
    assert.equal(readFileSync(file, "utf8"), all);
    assert.deepEqual([result.output, result.stdout, result.stderr], ["err\n", "", "err\n"]);
  });

  it("is written to a stream byte for byte", async () => {
    /** @type {Uint8Array[]} */
    const chunks = [];
    const stderr = new WritableStream({ write: (chunk) => void chunks.push(chunk) });
    const bytes = "printf '\\377\\000x' >&2; echo kept";
    const result = await sandbox.execs.exec("sh", ["-c", bytes], { stderr, encoding: "bytes" });
    assert.deepEqual(Buffer.concat(chunks), Buffer.from([0xff, 0, 0x78]));
    assert.equal(Buffer.from(result.output).toString(), "kept\n");
  });

  it("goes nowhere, and is told all the same", async () => {
    let told = "";
    const onOutput = (/** @type {{ output: string }} */ event) => void (told += event.output);
    const result = await sh("echo out; echo err >&2", {
      stdout: "ignore",
      stderr: "ignore",
      maxOutputBytes: 1,
      onOutput,
    });
    assert.deepEqual([result.exitCode, result.output], [0, ""]);
    assert.deepEqual(told.split("\n").sort(), ["", "err", "out"]);
  });

  it("waits for what onOutput promises", async () => {
    let running = 0;
    let most = 0;
    let told = "";
    const { output } = await sh("for i in 1 2 3 4 5; do echo $i; sleep 0.01; done", {
      onOutput: async (event) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise(setImmediate);
        told += event.output;
        running -= 1;
      },
    });
    assert.deepEqual([most, told, running], [1, output, 0]);
  });

  it("is read no faster than onOutput takes it, and a stop is not held up by it", async () => {
    let read = 0;
    const counts = new TransformStream({
      transform(chunk, controller) {
        read += chunk.length;
        controller.enqueue(chunk);
      },
    });
    const counted = await connect({
      ...{ url: agent.url, token: agent.token },
      fetch: async (input, init) => {
        const answer = await fetch(input, init);
        const isOutput = answer.headers.get("content-type")?.includes("output");
        return isOutput ? new Response(answer.body?.pipeThrough(counts), answer) : answer;
      },
    });
    const stop = new AbortController();
    let calls = 0;
    const script = "head -c 32000000 /dev/zero; echo end >&2; sleep 600";
    const running = counted.execs.exec("sh", ["-c", script], {
      signal: stop.signal,
      stdout: "ignore",
      onOutput: () => {
        calls += 1;
        return new Promise(() => {});
      },
    });
    // All of it is written, and only the beginning is read.
    const end = sandbox.execs.streamOutput(await running.id, -1);
    for await (const { type } of end) if (type === "stderr") break;
    assert.equal(calls, 1);
    assert.ok(read > 0 && read < 8_000_000, `${read} bytes`);
    stop.abort();
    assert.ok(isSandpipeError(await failure(running), "interrupted"));
    counted.close();
  });

  it("fails the call where a stream or a promise of onOutput does", async () => {
    const reason = new Error("no room");
    const stdout = new Writable({ write: (_chunk, _encoding, done) => done(reason) });
    stdout.on("error", () => undefined);
    assert.equal(await failure(sh("echo out", { stdout })), reason);
    assert.equal(await failure(sh("echo out", { onOutput: () => Promise.reject(reason) })), reason);
    // As an HTTP answer whose client leaves in the middle of a write.
    const left = new Writable({ write: () => setImmediate(() => left.destroy()) });
    for (const stdout of [left, left]) {
      const closed = await failure(sh("echo out; sleep 600", { stdout }));
      assert.equal(/** @type {any} */ (closed).code, "ERR_STREAM_PREMATURE_CLOSE");
    }
    const wrong = /** @type {any} */ ({});
    assert.match((await failure(sh("true", { stdout: wrong }))).message, /"ignore" or a stream/);
    const file = /** @type {any} */ ("out.log");
    assert.match(
      (await failure(sh("true", { stdout: file }))).message,
      /`options.stdout` must be "ignore" or a stream/,
    );
  });

  it("is no option of a session, which keeps all", async () => {
    const session = await sandbox.sessions.create();
    const error = await failure(session.run("true", { stdout: "ignore" }));
    assert.ok(isSandpipeError(error, "invalid_argument"));
    let told = "";
    await session.run("echo a; echo b", {
      onOutput: async (event) => {
        await new Promise(setImmediate);
        told += event.output;
      },
    });
    assert.equal(told, "a\nb\n");
    await session.close();
  });
});

describe("a result", () => {
  it("survives JSON, and a copy with the streams that were read", async () => {
    const result = await sh("echo out; echo err >&2");
    const { exitCode, output } = result;
    const whole = { exitCode, output, stdout: "out\n", stderr: "err\n" };
    assert.deepEqual(JSON.parse(JSON.stringify(result)), whole);
    assert.deepEqual(Object.keys({ ...result }), ["exitCode", "output"]);
    assert.deepEqual([result.stdout, result.stderr], ["out\n", "err\n"]);
    assert.deepEqual(JSON.parse(JSON.stringify(result)), whole);
    assert.deepEqual({ ...result }, whole);
  });

  it("says how long the command took", async () => {
    const before = performance.now();
    const { durationMs = -1 } = await sh("sleep 0.05");
    assert.ok(durationMs >= 50 && durationMs <= performance.now() - before, String(durationMs));
  });

  it("has a hint where a command line was given as a program", async () => {
    const { exitCode, output, hint } = await sandbox.execs.exec("npm run test");
    assert.equal(exitCode, 127);
    assert.equal(output, "sandpipe-agent: npm run test: No such file or directory\n");
    assert.equal(
      hint,
      'No shell splits a command at its spaces: pass arguments apart, as in exec("npm", ["run", "test"]), or use sandbox.run("npm run test").',
    );
    assert.equal((await sandbox.execs.exec("no-such-program")).hint, undefined);
    assert.equal((await sh("exit 127")).hint, undefined);
  });
});

describe("what is printed", () => {
  it("of a sandbox and an agent is where they are, and no secret", () => {
    const { url, token } = agent;
    assert.equal(inspect(sandbox), `Sandbox { url: '${url}', policy: 'open' }`);
    assert.equal(inspect(agent), `EmbeddedAgent { url: '${url}', policy: 'open' }`);
    assert.ok(!inspect({ sandbox, agent }, { depth: 9 }).includes(token));
  });
});
