// Output byte for byte, and text that is cut anywhere.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { connect, isSandpipeError } from "sandpipe";
import { startAgent } from "sandpipe/node";

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
const DECODED = new TextDecoder("utf-8", { ignoreBOM: true }).decode(TEXT);

/** Writes each byte of a file by itself. */
const BYTE_BY_BYTE = `
  const { readFileSync, writeSync } = require("node:fs");
  for (const byte of readFileSync(process.argv[1])) writeSync(1, Uint8Array.of(byte));
`;

describe("bytes", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {import("sandpipe").Execs} */
  let execs;
  /** @type {string} */
  let folder;

  /** A client that is given no frames. @param {(init: RequestInit) => void} change */
  const changed = async (change) => {
    const { execs } = await connect({
      ...agent,
      fetch: (input, init = {}) => {
        change(init);
        return fetch(input, init);
      },
    });
    return execs;
  };
  const withoutFrames = () =>
    changed(({ headers }) => {
      const accepted = /** @type {Record<string, string>} */ (headers);
      accepted["accept"] = (accepted["accept"] ?? "").replace(
        "application/vnd.sandpipe.output, ",
        "",
      );
    });

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
    const script = `head -c ${size} /dev/urandom | tee ${folder}/random; sha256sum ${folder}/random >&2`;
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
    const file = join(folder, "text");
    await writeFile(file, TEXT);
    const args = ["-e", BYTE_BY_BYTE, file];
    for (const client of [execs, await withoutFrames()]) {
      assert.equal((await client.exec(process.execPath, args)).output, DECODED);
      const { id } = await client.create({ command: process.execPath, args });
      assert.equal((await client.wait(id)).output, DECODED);
      assert.equal((await client.getOutput(id)).output, DECODED);
      // Each event by itself, from wherever one begins.
      const events = [];
      for await (const { output } of client.streamOutput(id)) events.push(output);
      assert.equal(events.join(""), DECODED);
      for (let last = 1; last < events.length; last += 7) {
        let rest = "";
        for await (const { output } of client.streamOutput(id, last)) rest += output;
        assert.equal(rest, events.slice(last).join(""));
      }
    }
    const { output } = await execs.exec(process.execPath, args, { encoding: "bytes" });
    assert.deepEqual(Buffer.from(output), TEXT);
  });

  it("keeps stdout and stderr apart", async () => {
    const script =
      "printf 'a\\377'; sleep 0.05; printf e >&2; sleep 0.05; printf '\\303'; sleep 0.05; printf '\\251'";
    const text = await execs.exec("sh", ["-c", script]);
    assert.deepEqual([text.output, text.stdout, text.stderr], ["a\u{FFFD}eé", "a\u{FFFD}é", "e"]);
    assert.deepEqual(Object.keys(text), ["exitCode", "output"]);
    const bytes = await execs.exec("sh", ["-c", script], { encoding: "bytes" });
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
  });
});
