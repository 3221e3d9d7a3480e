// @ts-check
/** The output that the clients drink: what commands print, as an agent sends it. */

import { createHash } from "node:crypto";

/**
 * @typedef {object} Workload
 * @property {string} title
 * @property {() => string[]} outputs the text of each event
 * @property {[string, ...string[]]} program what writes a file with it piece by piece
 *
 * @typedef {object} Expected what is to come out of it
 * @property {string} hash SHA-256 of its UTF-8
 * @property {number} length in UTF-16 code units
 */

const MB = 1_000_000;

const ASCII = [
  "   Compiling sandpipe-protocol v0.1.0 (/workspace/crates/protocol)\n",
  "test sse::decode::tests::a_split_crlf_is_one_line_ending ... ok\n",
  "2026-01-31T12:34:56.789Z INFO server::http request finished status=200 latency_ms=12\n",
  '{"level":"info","path":"C:\\\\build\\\\out.log","message":"wrote 1042 bytes"}\n',
];

const MIXED = [
  "\u001b[32m✓\u001b[39m src/parser.test.ts \u001b[2m(\u001b[22m42 tests\u001b[2m)\u001b[22m 118ms\n",
  "\u001b[1m\u001b[33mwarning\u001b[0m: unused variable: `größe` — did you mean `_größe`?\n",
  "   \u001b[34m│\u001b[0m    let café = naïve + Σ; // 12 µs\n",
  "[12:34:56] Starting 'build' … finished after 1.42 s\n",
  "GET /static/js/main.4f0c1e.chunk.js 200 0.512 ms - 48211\n",
];

const CJK = [
  "正在编译模块，共一百二十个文件，已完成四十二个。\n",
  "テストはすべて成功しました。所要時間は三秒です。\n",
  "빌드가 완료되었습니다: 경고 2개, 오류 0개\n",
];

/** @type {Record<string, Workload>} */
export const WORKLOADS = {
  ascii: large("100 MB, ASCII", ASCII),
  mixed: large("100 MB, coloured, partly non-ASCII", MIXED),
  cjk: large("100 MB, CJK", CJK),
  tiny: {
    title: "200,000 lines of 60 bytes, one by one",
    outputs: () => tiny(200_000),
    program: ["grep", "--line-buffered", ""],
  },
};

/** @param {string} name */
export function workloadOf(name) {
  const workload = WORKLOADS[name];
  if (workload === undefined) throw new Error(`There is no workload ${name}.`);
  return workload;
}

/**
 * @param {string} title
 * @param {string[]} lines
 * @returns {Workload}
 */
function large(title, lines) {
  return { title, outputs: () => pieces(lines, 100 * MB, 10_000), program: ["cat"] };
}

/**
 * @param {string[]} outputs
 * @returns {Expected}
 */
export function expectedOf(outputs) {
  const hash = createHash("sha256");
  for (const output of outputs) hash.update(output);
  return {
    hash: hash.digest("hex"),
    length: outputs.reduce((length, output) => length + output.length, 0),
  };
}

/**
 * Lines in an order that does not repeat soon, `size` bytes of UTF-8 in pieces of about `each`.
 *
 * @param {string[]} lines
 * @param {number} size
 * @param {number} each
 */
function pieces(lines, size, each) {
  const random = numbers(1);
  const outputs = [];
  for (let left = size; left > 0;) {
    let text = "";
    let bytes = 0;
    while (bytes < Math.min(each, left)) {
      const line = /** @type {string} */ (lines[random() % lines.length]);
      text += line;
      bytes += Buffer.byteLength(line);
    }
    outputs.push(text);
    left -= bytes;
  }
  return outputs;
}

/** @param {number} count */
function tiny(count) {
  return Array.from({ length: count }, (_, number) => {
    return `${String(number).padStart(7)} \u001b[32mok\u001b[0m - a line of a test run, sixty bytes\n`;
  });
}

/** Numbers that look random and are the same each time (xorshift). @param {number} seed */
function numbers(seed) {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

/**
 * The same in frames, each of as much as a read of the agent's.
 *
 * @param {string[]} outputs
 */
export function frames(outputs) {
  const bytes = Buffer.from(outputs.join(""));
  const all = [];
  for (let at = 0; at < bytes.length; at += FRAME_BYTES) {
    all.push(frame(1, all.length + 1, bytes.subarray(at, at + FRAME_BYTES)));
  }
  all.push(frame(3, all.length + 1, Buffer.alloc(4)));
  return all;
}

const FRAME_BYTES = 32 * 1024;

/** @param {number} type @param {number} sequence @param {Buffer} payload */
function frame(type, sequence, payload) {
  const header = Buffer.alloc(21);
  header.writeUInt32LE(payload.length);
  header.writeUInt8(type, 4);
  header.writeBigUInt64LE(BigInt(sequence), 5);
  header.writeBigUInt64LE(BigInt(Date.UTC(2026, 0, 31)) * 1000n, 13);
  return Buffer.concat([header, payload]);
}

/**
 * The stream of a command that prints this and ends with 0, as `sandpipe-agent` writes it.
 *
 * @param {string[]} outputs
 */
export function stream(outputs) {
  const timestamp = "2026-01-31T12:34:56.789Z";
  const events = outputs.map((output, index) =>
    JSON.stringify({ type: "stdout", output, sequence: index + 1, timestamp }),
  );
  const last = { type: "stdout", output: "", sequence: outputs.length + 1, timestamp, exitCode: 0 };
  events.push(JSON.stringify(last));
  return Buffer.from(`: stream\n\n${events.map((event) => `data: ${event}\n\n`).join("")}`);
}
