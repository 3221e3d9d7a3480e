// sendStdin() of a stream.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { connect, HttpError, UnsupportedError } from "sandpipe";
import { startAgent } from "sandpipe/node";

describe("a stream for stdin", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {Awaited<ReturnType<typeof connect>>["execs"]} */
  let execs;
  before(async () => {
    agent = await startAgent();
    ({ execs } = await connect(agent));
  });
  after(() => agent.stop());

  /** @param {string} script */
  const start = async (script) => {
    const request = { command: "sh", args: ["-c", script], interactive: true };
    return (await execs.create(request)).id;
  };

  /** Gives some parts, and notes when it is left. @param {(string | Uint8Array)[]} parts */
  const given = (parts) => {
    const state = { isLeft: false };
    async function* stream() {
      try {
        yield* parts;
      } finally {
        state.isLeft = true;
      }
    }
    return { state, stream: stream() };
  };

  it("is read by the process up to its end, whatever it is cut into", async () => {
    const bytes = new TextEncoder().encode("é 😀\n");
    const parts = ["one\n", "", bytes.subarray(0, 1), bytes.subarray(1, 5), bytes.subarray(5)];
    const large = "x".repeat(3_000_000);
    const readable = () =>
      new ReadableStream({
        start(controller) {
          for (const part of [...parts, large]) controller.enqueue(part);
          controller.close();
        },
      });
    const streams = [
      given([...parts, large]).stream,
      readable(),
      // As in browsers whose streams can't be iterated.
      { getReader: () => readable().getReader() },
    ];
    for (const stream of streams) {
      const id = await start("cat");
      assert.equal(await execs.sendStdin(id, stream), undefined);
      const { exitCode, output } = await execs.wait(id);
      assert.deepEqual([exitCode, output === `one\né 😀\n${large}`], [0, true]);
    }
  });

  it("is left when the process reads no more", async () => {
    for (const script of ["exit 3", "exec <&-; sleep 1000"]) {
      const id = await start(script);
      const { state, stream } = given(Array(10_000).fill("x".repeat(100_000)));
      await execs.sendStdin(id, stream);
      assert.equal(state.isLeft, true, script);
      await execs.terminate(id);
    }
  });

  it("may hold nothing but text where the agent takes nothing else", async () => {
    const old = await startAgent({ args: ["--without", "stdin-bytes"] });
    try {
      const { execs } = await connect(old);
      const request = { command: "cat", args: [], interactive: true };
      const { id } = await execs.create(request);
      const { state, stream } = given(["one\n", Uint8Array.of(0xff), "two\n"]);
      await assert.rejects(execs.sendStdin(id, stream), (error) => {
        assert.ok(error instanceof UnsupportedError);
        assert.deepEqual([error.feature, state.isLeft], ["stdin-bytes", true]);
        assert.match(error.message, /not UTF-8 text/);
        return true;
      });
      const euro = new TextEncoder().encode("€\n");
      for (const bytes of [euro.subarray(0, 2), Uint8Array.of(0xff)]) {
        await assert.rejects(execs.sendStdin(id, bytes), UnsupportedError);
        await assert.rejects(execs.sendStdin(id, { input: bytes }), UnsupportedError);
      }
      await execs.sendStdin(id, euro);
      // It has no end: what was sent is not all that there should have been.
      await execs.sendStdin(id, given([euro.subarray(0, 2), euro.subarray(2)]).stream);
      assert.deepEqual({ ...(await execs.wait(id)) }, { exitCode: 0, output: "one\n€\n€\n" });
    } finally {
      await old.stop();
    }
  });

  it("may be cut inside a character, and what is none is replaced in text and kept in bytes", async () => {
    const [high, low] = ["\ud83d", "\ude00"];
    const euro = new TextEncoder().encode("€");
    for (const [parts, expected] of /** @type {const} */ ([
      [[`a${high}`, "", `${low}b`], "a😀b"],
      [[high, low, high], "😀\ufffd"],
      [[high, high, "x", low], "\ufffd\ufffdx\ufffd"],
      [[high, euro], "\ufffd€"],
      [[euro.subarray(0, 2), "x", euro.subarray(2)], Buffer.from([0xe2, 0x82, 0x78, 0xac])],
    ])) {
      const id = await start("od -An -tx1 -v");
      await execs.sendStdin(id, given([...parts]).stream);
      const { output } = await execs.wait(id);
      assert.equal(output.replaceAll(/\s/g, ""), Buffer.from(expected).toString("hex"));
    }
  });

  it("is refused where the process is still to be started", async () => {
    const request = { command: "cat", args: [], interactive: true, autostart: false };
    const { id } = await execs.create(request);
    await assert.rejects(execs.sendStdin(id, given(["one\n"]).stream), HttpError);
    await execs.start(id);
    await execs.sendStdin(id, given(["two\n"]).stream);
    assert.deepEqual({ ...(await execs.wait(id)) }, { exitCode: 0, output: "two\n" });
  });

  it("is sent again where it can't have arrived, and not where it can", async () => {
    const unsent = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    /** @type {(Error | Response)[]} */
    const failures = [];
    const { execs } = await connect({
      ...agent,
      retry: { baseDelayMs: 1 },
      fetch: async (url, init) => {
        const failure = init?.method === "POST" && /\/io$/.test(String(url)) && failures.pop();
        if (failure instanceof Error) throw failure;
        return failure || fetch(url, init);
      },
    });
    const id = await start("cat");
    failures.push(unsent, unsent);
    await execs.sendStdin(id, given(["one\n"]).stream);
    assert.deepEqual({ ...(await execs.wait(id)) }, { exitCode: 0, output: "one\n" });
    assert.equal(failures.length, 0);

    const another = await start("cat");
    // What stands before an agent may answer 400 for reasons of its own.
    for (const failure of [new Error("broken"), new Response("no", { status: 400 })]) {
      failures.push(failure);
      const { state, stream } = given(["one\n", "two\n"]);
      await assert.rejects(execs.sendStdin(another, stream), HttpError);
      assert.equal(state.isLeft, true);
    }
    await execs.sendStdin(another, given(["three\n"]).stream);
    assert.deepEqual({ ...(await execs.wait(another)) }, { exitCode: 0, output: "three\n" });
  });
});
