// Bodies that go from the socket's memory to their reader, past `node:http`: the same bytes as by it, whatever a
// server does, and never memory that has been read into again.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { get } from "node:http";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";

import { httpFetch } from "../../dist/node/http-fetch.js";
import { httpServers } from "../support/http-servers.mjs";
import { Random } from "../support/random.mjs";

/** @typedef {import("node:net").Socket} Socket */

const HEAD = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
const MB = 1_000_000;

describe("bodies past node:http", () => {
  const { begun, listen } = httpServers();

  /**
   * A server that answers each request as `answer` does.
   *
   * @param {(socket: Socket, count: number) => unknown} answer
   */
  const serve = async (answer) => {
    /** @type {Set<Socket>} */
    const sockets = new Set();
    let connections = 0;
    const server = createServer({ noDelay: true }, (socket) => {
      sockets.add(socket.on("error", () => undefined));
      const number = connections++;
      socket.on("data", () => answer(socket, number));
    });
    begun.push(() => sockets.forEach((socket) => socket.destroy()));
    const url = await listen(server);
    return { url, sockets, connections: () => connections };
  };

  it("are the same wherever their bytes are cut, and the connection goes on", async () => {
    const answer = `HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${HEAD}5\r\nhello\r\n1;a=b\r\n \r\n5\r\nworld\r\n0\r\nx: y\r\n\r\n`;
    let cut = 0;
    const { url, connections } = await serve(async (socket) => {
      socket.write(answer.slice(0, cut));
      await isRead();
      socket.write(answer.slice(cut));
    });
    for (cut = 1; cut < answer.length; cut++) {
      assert.deepEqual(await read(url), { status: 200, body: "hello world" }, `cut at ${cut}`);
    }
    assert.equal(connections(), 1);
  });

  it("are read into the same memory again", async () => {
    const { url } = await serve((socket) => sendMuch(socket, 20 * MB));
    const reader = (await request(url)).body.getReader();
    const memories = new Set();
    let length = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      length += value.length;
      memories.add(value.buffer);
    }
    assert.equal(length, 20 * MB);
    assert.ok(memories.size <= 3, `${memories.size} memories`);
  });

  it("leave a chunk as it is until the next one is asked for", async () => {
    const random = new Random("slow");
    const { url } = await serve((socket) => sendMuch(socket, 20 * MB));
    const reader = (await request(url)).body.getReader();
    const hash = createHash("sha256");
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const before = sum(value);
      for (let turns = random.between(0, 5); turns > 0; turns--) await nextTurn();
      assert.equal(sum(value), before);
      hash.update(value);
    }
    assert.equal(hash.digest("hex"), hashOfMuch(20 * MB));
  });

  it("wait in the server while nobody reads them", async () => {
    let sent = 0;
    const { url } = await serve((socket) =>
      sendMuch(socket, 500 * MB, (length) => (sent += length)),
    );
    const { body } = await request(url);
    for (let turns = 0; turns < 100; turns++) {
      const before = sent;
      await nextTurn();
      if (sent > before) turns = 0;
    }
    // What the system's buffers hold, and two reads.
    assert.ok(sent < 50 * MB, `${sent} bytes`);
    const reader = body.getReader();
    let length = 0;
    for (; length < 100 * MB;) length += (await reader.read()).value?.length ?? 0;
  });

  it("have their length told, and a reader that is slow", async () => {
    const { url } = await serve((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${20 * MB}\r\n\r\n`);
      for (const piece of much(20 * MB)) socket.write(piece);
    });
    const reader = (await request(url)).body.getReader();
    const hash = createHash("sha256");
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      await nextTurn();
      hash.update(value);
    }
    assert.equal(hash.digest("hex"), hashOfMuch(20 * MB));
  });

  it("make way for the next answer when they are left", async () => {
    let sent = Promise.resolve();
    const { url, connections } = await serve((socket) => (sent = sendMuch(socket, 20 * MB)));
    for (let i = 0; i < 3; i++) {
      await (await request(url)).body.cancel();
      await sent;
      await isRead();
    }
    assert.equal(connections(), 1);
  });

  it("make way for the next answer when all of them is there, and nobody reads it", async () => {
    const { url, connections } = await serve((socket) =>
      socket.write(`${HEAD}2\r\nab\r\n0\r\n\r\n`),
    );
    for (let i = 0; i < 10; i++) {
      const abort = new AbortController();
      const reader = (await request(url, { signal: abort.signal })).body.getReader();
      await reader.read();
      abort.abort();
      await isRead();
    }
    assert.deepEqual(await read(url), { status: 200, body: "ab" });
    assert.equal(connections(), 1);
  });

  it("end at once when the request is given up", async () => {
    const { url, sockets } = await serve((socket) => socket.write(`${HEAD}5\r\nhel`));
    const abort = new AbortController();
    const reader = (await request(url, { signal: abort.signal })).body.getReader();
    assert.equal(Buffer.from((await reader.read()).value ?? []).toString(), "hel");
    const next = reader.read();
    abort.abort();
    await assert.rejects(next, /the connection was lost/);
    const [socket] = sockets;
    if (socket?.destroyed === false) await once(socket, "close");
  });

  it("are given up to where the connection was lost", async () => {
    const answer = `${HEAD}5\r\nhello\r\n5\r\nworld\r\n`;
    let cut = 0;
    const { url } = await serve((socket) => socket.end(answer.slice(0, cut)));
    for (cut = HEAD.length; cut <= answer.length; cut++) {
      const reader = (await request(url)).body.getReader();
      let text = "";
      const all = async () => {
        for (;;)
          text += Buffer.from((await reader.read()).value ?? assert.fail("ended")).toString();
      };
      await assert.rejects(all(), /the connection was lost/);
      const expected = "helloworld".slice(0, lengthAt(answer.slice(HEAD.length, cut)));
      assert.equal(text, expected, `cut at ${cut}`);
    }
  });

  it("say of what is malformed that the connection was lost, and why", async () => {
    const { url } = await serve((socket) => socket.write(`${HEAD}2\r\nabc\r\n`));
    await assert.rejects(read(url), (/** @type {Error} */ error) => {
      assert.equal(error.message, "the connection was lost");
      assert.match(String(error.cause), /longer than its size/);
      return true;
    });
  });

  for (const [status, method] of /** @type {const} */ ([
    ["204 No Content", "GET"],
    ["304 Not Modified", "GET"],
    ["200 OK", "HEAD"],
  ])) {
    it(`are none with ${status} to a ${method}, whatever the headers say`, async () => {
      const { url, connections } = await serve((socket) =>
        socket.write(HEAD.replace("200 OK", status)),
      );
      for (let i = 0; i < 3; i++) {
        const answer = await request(url, { method });
        assert.deepEqual(await answer.body.getReader().read(), { done: true, value: undefined });
      }
      assert.equal(connections(), 1);
    });
  }

  it("are what node:http makes of them, whatever a server sends", async () => {
    const random = new Random("answers");
    /** @type {string[]} */
    let pieces = [];
    const { url } = await serve(async (socket) => {
      for (const piece of pieces) {
        socket.write(piece, "latin1");
        await isRead();
      }
      socket.end();
    });
    const seen = new Set();
    // No other request goes over the same connection.
    const status = "HTTP/1.1 200 OK\r\nconnection: close\r\n";
    const all = `transfer-encoding: chunked\r\n\r\n5\r\nhello\r\na\r\n0123\r\n\r\n45\r\n4;x\r\n5\r\n6\r\n0\r\n\r\n`;
    for (let i = 0; i < 400; i++) {
      const answer = status + mutated(random, all);
      const cut = random.between(0, answer.length);
      pieces = [answer.slice(0, cut), answer.slice(cut)];
      const [ours, theirs] = [await outcome(read(url)), await outcome(readByNode(url))];
      assert.deepEqual(ours, theirs, JSON.stringify(pieces));
      seen.add(JSON.stringify(ours));
    }
    // They end well, and badly.
    assert.ok(seen.size > 20 && seen.has('"failed"'), [...seen].join("\n"));
  });
});

/**
 * @param {string} url
 * @param {{ signal?: AbortSignal, method?: string }} [how]
 */
async function request(url, { signal = new AbortController().signal, method = "GET" } = {}) {
  const { status, body } = await httpFetch(url, { method, headers: {}, signal });
  assert(body);
  return { status, body };
}

/** @param {string} url */
async function read(url) {
  const { status, body } = await request(url);
  const reader = body.getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { status, body: text };
    text += Buffer.from(value).toString("latin1");
  }
}

/** @param {string} url */
function readByNode(url) {
  return new Promise((resolve, reject) => {
    const asked = get(url, { agent: false }, (message) => {
      let body = "";
      message.setEncoding("latin1").on("data", (text) => (body += text));
      message.on("end", () => resolve({ status: message.statusCode, body })).on("error", reject);
      // What comes after an answer is none of its.
      asked.off("error", reject).on("error", () => undefined);
    });
    asked.on("error", reject).on("upgrade", reject);
  });
}

/** @param {Promise<unknown>} answer */
const outcome = (answer) => answer.catch(() => "failed");

/** What has been written to a socket of this process has been read by then. */
async function isRead() {
  for (let turns = 0; turns < 3; turns++) await nextTurn();
}

/** @param {Random} random @param {string} text */
function mutated(random, text) {
  let result = text;
  for (let count = random.between(0, 2); count > 0; count--) {
    const at = random.between(0, result.length);
    const piece = random.pick([
      "",
      "0",
      "5",
      "a",
      "\r",
      "\n",
      "\r\n",
      ";",
      " ",
      "g",
      "\0",
      "\r\n\r\n",
    ]);
    result = result.slice(0, at) + piece + result.slice(at + random.between(0, 2));
  }
  return result;
}

/** How much data a cut body has. @param {string} body */
function lengthAt(body) {
  return body.replaceAll(/5\r\n/g, "").replaceAll(/[\r\n5]/g, "").length;
}

/** Bytes in pieces, other ones in each. @param {number} size */
function* much(size) {
  for (let number = 0, left = size; left > 0; number++) {
    const length = Math.min(left, 1 + ((number * 7919) % 70_000));
    yield Buffer.alloc(length, `${number} `);
    left -= length;
  }
}

/** @param {number} size */
function hashOfMuch(size) {
  const hash = createHash("sha256");
  for (const piece of much(size)) hash.update(piece);
  return hash.digest("hex");
}

/**
 * @param {Socket} socket
 * @param {number} size
 * @param {(length: number) => void} [onSent]
 */
async function sendMuch(socket, size, onSent) {
  socket.write(HEAD);
  for (const piece of much(size)) {
    onSent?.(piece.length);
    socket.write(`${piece.length.toString(16)}\r\n`);
    socket.write(piece);
    if (!socket.write("\r\n")) await once(socket, "drain").catch(() => undefined);
    if (socket.destroyed) return;
  }
  socket.write("0\r\n\r\n");
}

/** @param {Uint8Array} bytes */
function sum(bytes) {
  return createHash("sha1").update(bytes).digest("hex");
}
