// Output byte for byte, and text that is cut anywhere.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { connect, isSandpipeError } from "sandpipe";
import { startAgent } from "sandpipe/node";
import { Relay } from "../support/relay.mjs";
import { RestartableAgent } from "../support/restartable-agent.mjs";

/** @param {Uint8Array} bytes */
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Of the tests of the WHATWG's decoder: truncated, overlong, surrogates, too large, and what stands between characters. */
const SEQUENCES = [
  "FF",
  "C0",
  "E0",
  "C0 00",
  "C0 C0",
  "E0 00",
  "E0 C0",
  "E0 80 00",
  "E0 80 C0",
  "FC 80 80 00",
  "FE 80 80 80 80 80",
  "C0 80",
  "E0 80 80",
  "F0 80 80 80",
  "C1 BF",
  "E0 81 BF",
  "F0 80 81 BF",
  "E0 9F BF",
  "F0 80 9F BF",
  "F0 8F BF BF",
  "F8 80 8F BF BF",
  "ED A0 80",
  "ED BF BF",
  "ED A0 BD ED B2 A9",
  "F4 90 80 80",
  "F0 9F 92",
  "F0 9F 92 A9",
  "E2 82",
  "E2 82 AC",
  "41 F0 9F 42",
  "EF BB BF 41",
  "00",
];
const TEXT = Buffer.concat(
  SEQUENCES.map((hex) => Buffer.from(`${hex.replaceAll(" ", "")}7C`, "hex")),
);

/** @param {Uint8Array} bytes */
const decoded = (bytes) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

/** Commands that write a sequence each, and wait for a line before each further byte. */
const SLOW = SEQUENCES.map((hex) => {
  const bytes = Buffer.from(`${hex.replaceAll(" ", "")}7C`, "hex");
  const script = Array.from(bytes, (byte) => `printf '\\${byte.toString(8)}'`).join(
    "; read -r _; ",
  );
  return { text: decoded(bytes), bytes, command: { command: "sh", args: ["-c", script] } };
});

/**
 * Runs such a command, which writes each byte when the one before has come: each is an event of its own. Resolves its id and its text.
 * @param {import("sandpipe").Execs} client @param {(typeof SLOW)[number]} sequence
 */
async function runSlowly(client, { command, bytes }) {
  const { id } = await client.create(command);
  let live = "";
  let left = bytes.length - 1;
  for await (const { output } of client.streamOutput(id)) {
    live += output;
    if (left-- > 0) await client.sendStdin(id, { input: "\n" });
  }
  return { id, live };
}

const IN_BYTES = /** @type {const} */ ({ encoding: "bytes" });

describe("bytes", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {import("sandpipe").Execs} */
  let execs;
  /** @type {string} */
  let folder;

  /** A client that is given no frames. */
  const withoutFrames = async (/** @type {{ url: string, token: string }} */ address = agent) => {
    const { execs } = await connect({
      ...address,
      fetch: (input, init = {}) => {
        const accepted = /** @type {Record<string, string>} */ (init.headers);
        const { accept = "" } = accepted;
        accepted["accept"] = accept.replace("application/vnd.sandpipe.output, ", "");
        return fetch(input, init);
      },
    });
    return execs;
  };

  /**
   * What an agent has of a text is that, whoever asks and wherever they begin; resolves of how many events it is.
   * @param {import("sandpipe").Execs} client @param {string} id @param {string} text
   */
  const checkText = async (client, id, text) => {
    assert.equal((await client.wait(id)).output, text);
    assert.equal((await client.getOutput(id)).output, text);
    const events = [];
    for await (const { output } of client.streamOutput(id)) events.push(output);
    assert.equal(events.join(""), text);
    for (let last = 1; last < events.length; last += 1) {
      let rest = "";
      for await (const { output } of client.streamOutput(id, last)) rest += output;
      assert.equal(rest, events.slice(last).join(""));
    }
    return events.length;
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "sandpipe-bytes-"));
    agent = await startAgent();
    ({ execs } = await connect(agent));
  });
  after(async () => {
    await agent.stop();
    await rm(folder, { recursive: true });
  });

  it("50 MB of any bytes arrive as they were written, whoever asks", async () => {
    const size = 50_000_000;
    const script = `head -c ${size} /dev/urandom | tee '${folder}/random'; sha256sum '${folder}/random' >&2`;
    const result = await execs.exec("sh", ["-c", script], { encoding: "bytes" });
    const expected = Buffer.from(result.stderr).toString().slice(0, 64);
    assert.equal(result.exitCode, 0);
    assert.equal(sha256(result.stdout), expected);
    const [exec] = await execs.list();
    const waited = await execs.wait(exec?.id ?? "", { encoding: "bytes" });
    assert.equal(sha256(waited.stdout), expected);
    const hash = createHash("sha256");
    let exitCode;
    for await (const event of execs.streamOutput(exec?.id ?? "", 0, { encoding: "bytes" })) {
      if (event.type === "stdout") hash.update(event.output);
      exitCode = event.exitCode;
    }
    assert.deepEqual([hash.digest("hex"), exitCode], [expected, 0]);
  });

  it("text that is cut at every byte is what TextDecoder makes of the whole, over frames and over SSE", async () => {
    const clients = [execs, await withoutFrames()];
    const all = clients.flatMap((client) => SLOW.map((sequence) => ({ client, sequence })));
    const counts = await Promise.all(
      all.map(async ({ client, sequence }) => {
        const { text, bytes } = sequence;
        const { id, live } = await runSlowly(client, sequence);
        assert.equal(live, text);
        assert.deepEqual(Buffer.from((await execs.wait(id, IN_BYTES)).output), bytes);
        return await checkText(client, id, text);
      }),
    );
    const events = counts.reduce((sum, count) => sum + count, 0);
    assert.ok(events > 2 * TEXT.length, `${events} events are not one for each byte`);
  });

  it("50 MB of any bytes are whole through connections that are cut, live and from the spool", async () => {
    const relay = new Relay(agent.url);
    relay.breakAfter = 3_000_017;
    const url = await relay.listen();
    try {
      const { execs } = await connect({ ...agent, url, retry: { baseDelayMs: 1, maxDelayMs: 10 } });
      const file = join(folder, "cut");
      const script = `head -c 50000000 /dev/urandom | tee '${file}'; sha256sum '${file}' >&2`;
      const live = await execs.exec("sh", ["-c", script], IN_BYTES);
      const cuts = relay.broken;
      const [exec] = await execs.list();
      const kept = await execs.wait(exec?.id ?? "", IN_BYTES);
      for (const { exitCode, stdout, stderr } of [live, kept]) {
        const expected = Buffer.from(stderr).toString().slice(0, 64);
        assert.deepEqual([exitCode, stdout.length, sha256(stdout)], [0, 50_000_000, expected]);
      }
      assert.ok(cuts >= 16 && relay.broken - cuts >= 16, `${cuts} and ${relay.broken - cuts} cuts`);
    } finally {
      await relay.close();
    }
  });

  it("text and bytes are the same after a restart of the agent", async () => {
    const random = randomBytes(3_000_000);
    await writeFile(join(folder, "bytes"), random);
    await writeFile(join(folder, "text"), TEXT);
    const own = new RestartableAgent(folder);
    await own.start();
    try {
      const address = { url: own.url, token: own.token };
      const { execs: before } = await connect(address);
      const slow = await Promise.all(
        SLOW.map(async (sequence) => {
          const { text, bytes } = sequence;
          return { text, bytes, id: (await runSlowly(before, sequence)).id };
        }),
      );
      const script = `cat '${folder}/bytes'; cat '${folder}/text' >&2`;
      const both = await before.create({ command: "sh", args: ["-c", script] });
      await before.wait(both.id);
      await own.stop();
      await own.start();
      const { execs: after } = await connect(address);
      for (const client of [after, await withoutFrames(address)]) {
        for (const { id, text } of slow) await checkText(client, id, text);
      }
      for (const { id, bytes } of slow)
        assert.deepEqual(Buffer.from((await after.wait(id, IN_BYTES)).output), bytes);
      const { stdout, stderr } = await after.wait(both.id, IN_BYTES);
      assert.deepEqual([sha256(stdout), sha256(stderr)], [sha256(random), sha256(TEXT)]);
    } finally {
      await own.stop();
    }
  });

  it("keeps stdout and stderr apart", async () => {
    const script =
      "printf 'a\\377'; read -r _; printf e >&2; read -r _; printf '\\303'; sleep 0.05; printf '\\251'";
    /** Has it write to the other stream when what it wrote before has come: the order between streams is that of their reading. */
    const inTurn = () => {
      /** @type {ReadableStreamDefaultController<string>} */
      let stdin;
      /** @type {ReadableStream<string>} */
      const input = new ReadableStream({ start: (controller) => void (stdin = controller) });
      let events = 0;
      const onOutput = () => {
        events += 1;
        if (events <= 2) stdin.enqueue("\n");
      };
      return { input, onOutput };
    };
    const text = await execs.exec("sh", ["-c", script], inTurn());
    assert.deepEqual([text.output, text.stdout, text.stderr], ["a\u{FFFD}eé", "a\u{FFFD}é", "e"]);
    assert.deepEqual(Object.keys(text), ["exitCode", "output", "stdout", "stderr"]);
    const bytes = await execs.exec("sh", ["-c", script], { ...inTurn(), ...IN_BYTES });
    const [output, stdout, stderr] = [bytes.output, bytes.stdout, bytes.stderr].map((part) =>
      Buffer.from(part).toString("latin1"),
    );
    assert.deepEqual([output, stdout, stderr], ["a\xFFe\xC3\xA9", "a\xFF\xC3\xA9", "e"]);
    const silent = await execs.exec("sh", ["-c", "echo x >&2"]);
    assert.deepEqual([silent.stdout, silent.stderr], ["", "x\n"]);
  });

  it("calls onOutput with bytes, counts them, and has them in errors", async () => {
    /** @type {number[]} */
    const heard = [];
    const onOutput = (/** @type {{ output: Uint8Array }} */ { output }) => heard.push(...output);
    const args = ["-c", "printf '\\377\\376ab'; sleep 60"];
    const options = /** @type {const} */ ({ encoding: "bytes", maxOutputBytes: 3 });
    await assert.rejects(execs.exec("sh", args, { ...options, onOutput }), (error) => {
      assert(isSandpipeError(error, "output_limit"));
      assert.deepEqual(error.output, Uint8Array.of(0xff, 0xfe, 0x61));
      return true;
    });
    const aborted = { encoding: /** @type {const} */ ("bytes"), signal: AbortSignal.abort() };
    await assert.rejects(execs.exec("true", [], aborted), { output: new Uint8Array() });
    assert.deepEqual(
      (await execs.exec("true", [], { encoding: "bytes" })).output,
      new Uint8Array(),
    );
    await execs.exec("printf", ["\\377"], { encoding: "bytes", onOutput });
    assert.equal(heard.at(-1), 0xff);
  });

  it("says that an agent without frames has no bytes, before anything is run", async () => {
    const without = await startAgent({ args: ["--without", "frames"] });
    try {
      const { execs } = await connect(without);
      const unsupported = { code: "unsupported", feature: "frames" };
      const bytes = /** @type {const} */ ({ encoding: "bytes" });
      await assert.rejects(execs.exec("true", [], bytes), unsupported);
      assert.deepEqual(await execs.list(), []);
      const { id } = await execs.create({ command: "true", args: [] });
      await assert.rejects(execs.wait(id, bytes), unsupported);
      await assert.rejects(execs.streamOutput(id, 0, bytes).next(), unsupported);
    } finally {
      await without.stop();
    }
  });

  it("refuses another encoding, and bytes in a session", async () => {
    const wrong = { encoding: /** @type {"bytes"} */ (/** @type {unknown} */ ("latin1")) };
    const invalid = { code: "invalid_argument" };
    await assert.rejects(execs.exec("true", [], wrong), invalid);
    await assert.rejects(execs.streamOutput("x", 0, wrong).next(), invalid);
    const { sessions } = await connect(agent);
    const session = await sessions.create();
    const bytes = /** @type {object} */ ({ encoding: "bytes" });
    await assert.rejects(session.run("true", bytes), invalid);
    await session.close();
  });
});
