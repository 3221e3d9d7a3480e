// The option `input` of exec().
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import {
  createReadStream,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { connect, ExitCodeMissingError, InvalidArgumentError, UnsupportedError } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { idsOfAgent, until } from "../support/processes.mjs";

const MIB = 1 << 20;

describe("input", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {Awaited<ReturnType<typeof connect>>["execs"]} */
  let execs;
  /** @type {import("sandpipe").Files} */
  let files;
  /** @type {string} */
  let directory;
  /** @type {string} of the agent */
  let pid;
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), "sandpipe-input-"));
    agent = await startAgent();
    ({ execs, files } = await connect(agent));
    ({ agent: pid } = await idsOfAgent((script) => execs.exec("sh", ["-c", script])));
  });
  after(async () => {
    await agent.stop();
    rmSync(directory, { recursive: true });
  });

  /**
   * The agent's memory in bytes.
   * @param {"VmRSS" | "VmHWM"} figure what it has now, or the most that it has had
   */
  const memory = (figure) => {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(new RegExp(`${figure}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
  };

  it("rejects with the error of a stream that fails before it is read", async () => {
    const missing = execs.exec("cat", [], { input: createReadStream("/nosuch") });
    await assert.rejects(missing, (error) => {
      assert.ok(error instanceof ExitCodeMissingError);
      assert.equal(/** @type {any} */ (error.cause).code, "ENOENT");
      return true;
    });
    const destroyed = createReadStream(import.meta.filename).destroy();
    await assert.rejects(execs.exec("cat", [], { input: destroyed }), (error) => {
      assert.ok(error instanceof ExitCodeMissingError);
      assert.equal(/** @type {any} */ (error.cause).code, "ERR_STREAM_PREMATURE_CLOSE");
      return true;
    });
    for (const append of [false, true]) {
      const written = files.write(join(directory, "new"), createReadStream("/nosuch"), { append });
      await assert.rejects(written, { code: "ENOENT" });
    }
  });

  it("is read byte for byte, from a string, bytes, an iterable or a stream", async () => {
    const bytes = randomBytes(3 * MIB + 5);
    const hash = createHash("sha256").update(bytes).digest("hex");
    const parts = [bytes.subarray(0, 1), bytes.subarray(1, 2 * MIB), bytes.subarray(2 * MIB)];
    for (const input of [bytes, new Uint8Array(bytes), readable(parts), from(parts)]) {
      const { exitCode, output } = await execs.exec("sha256sum", [], { input });
      assert.deepEqual([exitCode, output], [0, `${hash}  -\n`]);
    }
    const text = `a€😀${"😀".repeat(MIB)}b`;
    const { output } = await execs.exec("cat", [], { input: text });
    assert.equal(output === text, true);
    const sent = await execs.create({ command: "od", args: ["-An", "-tx1"], interactive: true });
    assert.equal((await execs.sendStdin(sent.id, { input: Uint8Array.of(0, 255) })).id, sent.id);
    assert.equal((await execs.sendStdin(sent.id, Uint8Array.of(128))).id, sent.id);
    assert.equal((await execs.sendStdin(sent.id, "a")).id, sent.id);
    await execs.sendStdin(sent.id, { type: "eof", input: "" });
    assert.equal((await execs.wait(sent.id)).output, " 00 ff 80 61\n");
  });

  it("of 512 MB takes the memory of a piece at both ends, and waits for a process that does not read", async () => {
    const go = join(directory, "go");
    const script = `(head -c 1048576; until [ -e '${go}' ]; do sleep 0.01; done; cat) | sha256sum`;
    const piece = randomBytes(MIB);
    const hash = createHash("sha256");
    const agentBefore = memory("VmRSS");
    const before = process.memoryUsage();
    const peak = { rss: 0, arrayBuffers: 0 };
    let given = 0;
    async function* input() {
      for (; given < 512; given++) {
        piece.writeUInt32LE(given);
        hash.update(piece);
        yield piece;
        const { rss, arrayBuffers } = process.memoryUsage();
        peak.rss = Math.max(peak.rss, rss - before.rss);
        peak.arrayBuffers = Math.max(peak.arrayBuffers, arrayBuffers - before.arrayBuffers);
      }
    }
    const ended = execs.exec("sh", ["-c", script], { input: input() });
    // It has what the process has read, and a piece that waits.
    await until(() => given >= 1);
    await isStill(() => given);
    assert.ok(given <= 2, `${given} MiB were taken`);
    writeFileSync(go, "");
    assert.equal((await ended).output, `${hash.digest("hex")}  -\n`);
    const agentPeak = memory("VmHWM") - agentBefore;
    assert.ok(agentPeak < 16 * MIB, `the agent took ${agentPeak / MIB} MiB`);
    assert.ok(peak.rss < 200 * MIB, `this process took ${peak.rss / MIB} MiB`);
    assert.ok(peak.arrayBuffers < 100 * MIB, `arrays took ${peak.arrayBuffers / MIB} MiB`);
  });

  it("stays outside of the module, however large an array it is", async () => {
    const bytes = new Uint8Array(300 * MIB);
    const before = process.memoryUsage.rss();
    let peak = 0;
    const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 5);
    const { output } = await execs.exec("wc", ["-c"], { input: bytes });
    clearInterval(timer);
    assert.equal(Number(output), bytes.length);
    assert.ok(peak - before < 150 * MIB, `this process took ${(peak - before) / MIB} MiB more`);
  });

  it("is cancelled when the process reads no more, or has ended", async () => {
    const closed = notes(Array(1000).fill(new Uint8Array(MIB)));
    const { output } = await execs.exec("sh", ["-c", "exec <&-; sleep 1; echo done"], {
      input: closed.stream,
    });
    assert.equal(output, "done\n");
    await until(() => closed.state.isLeft);

    let isCancelled = false;
    const endless = new ReadableStream({ cancel: () => void (isCancelled = true) });
    assert.equal((await execs.exec("true", [], { input: endless })).exitCode, 0);
    await until(() => isCancelled);
    const stop = new AbortController();
    let isLeft = false;
    const silent = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          // Not before: what has not been begun is not left either.
          stop.abort();
          return new Promise(() => undefined);
        },
        return: async () => {
          isLeft = true;
          return { done: /** @type {const} */ (true), value: undefined };
        },
      }),
    };
    const silenced = execs.exec("cat", [], { input: silent, signal: stop.signal });
    await assert.rejects(silenced, { name: "AbortError" });
    await until(() => isLeft);
  });

  it("that fails stops the command, and says why", async () => {
    const broken = new Error("the source is broken");
    async function* input() {
      yield "one\n";
      throw broken;
    }
    const wrong = from(/** @type {any} */ (["one\n", 2]));
    for (const [stream, isCause] of /** @type {const} */ ([
      [input(), (/** @type {unknown} */ cause) => cause === broken],
      [wrong, (/** @type {unknown} */ cause) => cause instanceof InvalidArgumentError],
    ])) {
      const script = "cat; exec sleep 1000";
      await assert.rejects(execs.exec("sh", ["-c", script], { input: stream }), (error) => {
        assert.ok(error instanceof ExitCodeMissingError, String(error));
        assert.ok(isCause(error.cause), String(error.cause));
        assert.ok("one\n".startsWith(String(error.output)), String(error.output));
        return true;
      });
    }
    for (const item of await execs.list()) assert.notEqual(item.status, "RUNNING");
  });

  it("in bytes that are no text is refused by an agent that takes text alone, before anything runs", async () => {
    const old = await startAgent({ args: ["--without", "stdin-bytes"] });
    try {
      const { execs } = await connect(old);
      const ran = join(directory, "ran");
      const refused = execs.exec("touch", [ran], { input: Uint8Array.of(0xff) });
      await assert.rejects(refused, (error) => {
        assert.ok(error instanceof UnsupportedError);
        assert.equal(error.feature, "stdin-bytes");
        return true;
      });
      assert.deepEqual([await execs.list(), existsSync(ran)], [[], false]);
      const euro = new TextEncoder().encode("€");
      const input = from([euro.subarray(0, 1), euro.subarray(1)]);
      assert.equal((await execs.exec("cat", [], { input })).output, "€");
    } finally {
      await old.stop();
    }
  });
});

/** @param {Uint8Array[]} parts */
function readable(parts) {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

/** @template T @param {T[]} parts */
async function* from(parts) {
  yield* parts;
}

/** Gives some parts, and notes when it is left. @param {Uint8Array[]} parts */
function notes(parts) {
  const state = { isLeft: false };
  async function* stream() {
    try {
      yield* parts;
    } finally {
      state.isLeft = true;
    }
  }
  return { state, stream: stream() };
}

/** Waits until a number has stayed the same for some time. @param {() => number} number */
async function isStill(number) {
  let [last, times] = [NaN, 0];
  await until(() => {
    if (number() !== last) [last, times] = [number(), 0];
    times += 1;
    return times > 40;
  });
}
