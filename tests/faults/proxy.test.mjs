// @ts-check
// The faults are what their names say: else the runs through them would show nothing.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";

import { Proxy } from "./proxy.mjs";
import { Random } from "../support/random.mjs";
import { STREAM_FAULTS } from "./stream-faults.mjs";

const EVENTS = [
  ": sandpipe\n\n",
  ...[1, 2, 3, 4, 5].map((n) => `data: {"type":"stdout","output":"${n} é€😀","sequence":${n}}\n\n`),
];
const EXIT = 'data: {"type":"stdout","output":"","sequence":6,"exitCode":7}\n\n';
const ALL = EVENTS.join("") + EXIT;

describe("the proxy", { skip: process.env["SEED"] !== undefined }, () => {
  const agent = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    // An event may come in two pieces.
    const bytes = Buffer.from(ALL);
    response.write(bytes.subarray(0, 100), () => response.end(bytes.subarray(100)));
  });
  /** @type {string} */
  let target;

  before(async () => {
    agent.listen(0, "127.0.0.1");
    await once(agent, "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (agent.address());
    target = `http://127.0.0.1:${port}`;
  });
  after(() => agent.close());

  /**
   * What a client gets of the stream.
   *
   * @param {import("./plan.mjs").Fault} [fault]
   */
  async function receive(fault) {
    const proxy = new Proxy(target, { next: () => fault });
    const url = await proxy.listen();
    try {
      const { port } = new URL(url);
      return { ...(await receiveRaw(Number(port))), struck: proxy.struck.length };
    } finally {
      await proxy.close();
      assert.deepEqual(proxy.errors, []);
    }
  }

  /**
   * @param {string} name
   * @param {number} seed
   */
  const receiveWith = (name, seed) => {
    const make = STREAM_FAULTS.get(name);
    assert.ok(make !== undefined, name);
    const carry = make(new Random(String(seed)), { bytes: ALL.length, events: 5 });
    return receive({ name, carry });
  };

  it("changes nothing without a fault", async () => {
    const { bytes, ending, struck } = await receive();
    assert.deepEqual([bytes.toString(), ending, struck], [ALL, "clean", 0]);
  });

  /** What is to be true of what comes through, by the beginning of a fault's name.
   * @type {Record<string, (text: string, bytes: Buffer) => boolean>} */
  const SHAPES = {
    "cut after N bytes": (text) => text.length <= ALL.length,
    "cut mid-event": (text) => !text.endsWith("\n\n"),
    "cut mid-character": (text) => text.endsWith("\ufffd"),
    "cut before the exit event": (text) => text === EVENTS.join(""),
    "cut after the exit event": (text) => text === ALL,
    "stall, then on": (text) => text === ALL,
    "stall, then reset": (text) => ALL.startsWith(text) && text.length < ALL.length,
    "events delivered twice": (text) => text.length > ALL.length && text.endsWith(EXIT),
  };

  for (const name of STREAM_FAULTS.keys()) {
    it(`brings what it is told: ${name}`, async () => {
      const shape = Object.keys(SHAPES).find((beginning) => name.startsWith(beginning));
      assert.ok(shape !== undefined);
      let strikes = 0;
      let seen = 0;
      for (let seed = 0; seed < 40; seed++) {
        const { bytes, ending, struck } = await receiveWith(name, seed);
        if (struck === 0) {
          assert.equal(bytes.toString(), ALL);
          continue;
        }
        strikes += 1;
        const text = bytes.toString();
        assert.ok(SHAPES[shape]?.(text, bytes), `seed ${seed}: ${text}`);
        const wanted = /(reset|abort|clean)$/.exec(name)?.[1] ?? "clean";
        // A receiver that lags behind is told of a mere end after a reset, too.
        const isLate = wanted === "reset" && ending === "abort";
        if (!isLate) assert.equal(ending, wanted, `seed ${seed}`);
        if (!isLate) seen += 1;
      }
      assert.ok(seen > 0, "no reset was one");
      assert.ok(strikes >= 15, `it struck ${strikes} times`);
    });
  }
});

/**
 * Asks for a stream without Node's HTTP client, which tells a reset no longer from an abort.
 *
 * @param {number} port
 */
async function receiveRaw(port) {
  const socket = connect(port, "127.0.0.1");
  const line = "GET /api/v1/stream/execs/x/io?lastSequence=0 HTTP/1.1";
  socket.write(`${line}\r\nHost: x\r\nConnection: close\r\n\r\n`);
  /** @type {Buffer[]} */
  const received = [];
  let wasReset = false;
  socket.on("data", (chunk) => received.push(chunk));
  socket.on("error", (/** @type {NodeJS.ErrnoException} */ error) => {
    wasReset = error.code === "ECONNRESET";
  });
  await new Promise((resolve) => socket.once("close", resolve));

  const answer = Buffer.concat(received);
  /** @type {Buffer[]} */
  const chunks = [];
  let rest = answer.subarray(answer.indexOf("\r\n\r\n") + 4);
  for (;;) {
    const length = Number.parseInt(rest.toString("latin1"), 16);
    if (Number.isNaN(length)) break;
    const start = rest.indexOf("\r\n") + 2;
    if (length === 0) return { bytes: Buffer.concat(chunks), ending: "clean" };
    chunks.push(rest.subarray(start, start + length));
    rest = rest.subarray(start + length + 2);
  }
  return { bytes: Buffer.concat(chunks), ending: wasReset ? "reset" : "abort" };
}
