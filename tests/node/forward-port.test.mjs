// @ts-check
// forwardPort() with a real agent and real servers in its sandbox.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect as connectTcp, createServer } from "node:net";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { connect, isSandpipeError } from "sandpipe";
import { forwardPort, startAgent } from "sandpipe/node";

import { freePort } from "../support/free-port.mjs";
import { until } from "../support/processes.mjs";
import { failure } from "../support/script.mjs";

/** @type {Awaited<ReturnType<typeof startAgent>>} */
let agent;
/** @type {import("sandpipe").Sandbox} */
let sandbox;
before(async () => {
  agent = await startAgent();
  sandbox = await connect(agent);
});
after(async () => {
  await Promise.all(open.map((one) => one.close()));
  sandbox.close();
  await agent.stop();
});

/** A server that runs in the sandbox: its port, and its exec. @param {string} onConnection what it does with a `socket` */
async function serve(onConnection) {
  const port = await freePort();
  const code = `require("net").createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => undefined);
    ${onConnection}
  }).listen(${port}, "127.0.0.1")`;
  const { id } = await sandbox.execs.create({ command: process.execPath, args: ["-e", code] });
  await sandbox.ports.waitFor(port, { exec: id, timeoutMs: 60_000 });
  return { port, id };
}

/** What is forwarded. @type {import("sandpipe/node").ForwardedPort[]} */
const open = [];

/** @type {typeof forwardPort} */
async function forward(...args) {
  const forwarded = await forwardPort(...args);
  open.push(forwarded);
  return forwarded;
}

/** A connection to a port here. @param {number} port */
async function dial(port) {
  const socket = connectTcp({ port, host: "127.0.0.1", allowHalfOpen: true });
  await once(socket, "connect");
  return socket;
}

/** All that comes up to the end. @param {import("node:net").Socket} socket */
async function allOf(socket) {
  /** @type {Buffer[]} */
  const chunks = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  // Unlike an iteration, this leaves the other direction open.
  await new Promise((resolve, reject) => socket.once("end", resolve).once("error", reject));
  return Buffer.concat(chunks);
}

const ECHO = "socket.pipe(socket);";

/** More bytes than the buffers on the way hold. */
const MUCH = 64 * 1024 * 1024;

/** @param {Buffer} bytes */
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/**
 * Waits until a number has stayed what it is for 2 s, and gives it: on a busy machine all may pause for a moment.
 *
 * @param {() => number | Promise<number>} read
 */
async function standstill(read) {
  let [last, same] = [-1, 0];
  await until(async () => {
    const now = await read();
    same = now === last && now > 0 ? same + 1 : 0;
    last = now;
    if (same < 20) await pause(100);
    return same === 20;
  });
  return last;
}

describe("a port that is forwarded", () => {
  it("carries a hundred connections at once, each byte for byte", async () => {
    const { port } = await serve(ECHO);
    const forwarded = await forward(sandbox, port, { localPort: 0 });
    await Promise.all(
      Array.from({ length: 100 }, async (_, n) => {
        const bytes = randomBytes(n === 0 ? 8_000_000 : 20_000 + n);
        const socket = await dial(forwarded.port);
        socket.end(bytes);
        assert.ok((await allOf(socket)).equals(bytes));
      }),
    );
  });

  it("keeps half-closed connections open in the other direction", async () => {
    // It answers when all has come, and has sent its own end before that, in the other.
    const late = `let all = 0; socket.on("data", (d) => all += d.length); socket.on("end", () => setTimeout(() => socket.end("got " + all), 50));`;
    const { port } = await serve(late);
    const forwarded = await forward(sandbox, port, { localPort: 0 });
    const socket = await dial(forwarded.port);
    socket.end("12345");
    assert.equal(String(await allOf(socket)), "got 5");

    const early = await serve(
      `socket.end("bye"); let all = ""; socket.on("data", (d) => all += d); socket.on("end", () => console.log(all));`,
    );
    const other = await forward(sandbox, early.port, { localPort: 0 });
    const halfClosed = await dial(other.port);
    assert.equal(String(await allOf(halfClosed)), "bye");
    halfClosed.end("still heard");
    await sandbox.execs.waitForOutput(early.id, "still heard", { timeoutMs: 60_000 });
  });

  it("makes the server wait for a client that does not read", async () => {
    const { port, id } = await serve(`
      const bytes = Buffer.alloc(65536, "some bytes");
      let sent = 0;
      const more = () => {
        while (sent < ${MUCH}) { sent += bytes.length; if (!socket.write(bytes)) return; }
        socket.end();
      };
      socket.on("drain", more); more();
      setInterval(() => console.log("taken " + (sent - socket.writableLength) + "."), 50).unref();`);
    const forwarded = await forward(sandbox, port, { localPort: 0 });
    const socket = await dial(forwarded.port);
    socket.pause();
    const taken = await standstill(async () => {
      const { output } = await sandbox.execs.getOutput(id);
      return Number(/taken (\d+)\.\n$/.exec(output)?.[1] ?? 0);
    });
    assert.ok(taken < MUCH / 2, `${taken} bytes are on their way`);
    const all = allOf(socket);
    socket.resume();
    const received = await all;
    assert.equal(received.length, MUCH);
    assert.equal(sha256(received), sha256(Buffer.alloc(MUCH, Buffer.alloc(65536, "some bytes"))));
    socket.end();
  });

  it("makes the client wait for a server that does not read", async () => {
    const { port, id } = await serve(`
      socket.pause();
      const hash = require("crypto").createHash("sha256");
      socket.on("data", (data) => hash.update(data));
      socket.on("end", () => { console.log("hash " + hash.digest("hex") + "."); socket.end(); });
      process.stdin.once("data", () => socket.resume());`);
    const forwarded = await forward(sandbox, port, { localPort: 0 });
    const socket = await dial(forwarded.port);
    const bytes = randomBytes(MUCH);
    for (let at = 0; at < MUCH; at += 65536) socket.write(bytes.subarray(at, at + 65536));
    socket.end();
    const taken = await standstill(() => MUCH - socket.writableLength);
    assert.ok(taken < MUCH / 2, `${taken} bytes are on their way`);
    const all = allOf(socket);
    await sandbox.execs.sendStdin(id, { input: "\n" });
    const { match } = await sandbox.execs.waitForOutput(id, /hash (\w+)\./, { timeoutMs: 60_000 });
    assert.equal(match[1], sha256(bytes));
    assert.equal((await all).length, 0);
  });

  it("loses nothing to a client that reads the last of it late", async () => {
    const { port } = await serve(`socket.end(Buffer.alloc(3_000_000, 7)); socket.resume();`);
    const forwarded = await forward(sandbox, port, { localPort: 0 });
    const socket = await dial(forwarded.port);
    socket.pause();
    socket.end();
    // Longer than the agent would wait for one that has gone.
    await pause(3000);
    const all = allOf(socket);
    socket.resume();
    assert.equal((await all).length, 3_000_000);
  });

  it("resets connections where nothing listens, and where the server dies, and says why", async () => {
    /** @type {import("sandpipe").HttpError[]} */
    const errors = [];
    const onConnectionError = (/** @type {import("sandpipe").HttpError} */ error) =>
      void errors.push(error);
    const nobody = await freePort();
    const forwarded = await forward(sandbox, nobody, { localPort: 0, onConnectionError });
    const isReset = { code: "ECONNRESET" };
    await assert.rejects(async () => allOf(await dial(forwarded.port)), isReset);
    const [refused] = errors.splice(0);
    assert.ok(isSandpipeError(refused, "http") && refused.status === 502);
    assert.match(refused.message, new RegExp(`^forward port: the agent answered 502: .*${nobody}`));

    const { port, id } = await serve(`
      socket.write("hello");
      socket.on("data", () => socket.resetAndDestroy());`);
    const other = await forward(sandbox, port, { localPort: 0, onConnectionError });
    const [broken, ended] = [await dial(other.port), await dial(other.port)];
    for (const socket of [broken, ended]) {
      assert.equal(String((await once(socket, "data"))[0]), "hello");
    }
    broken.write("x");
    await assert.rejects(once(broken, "close"), isReset);
    const [error] = errors.splice(0);
    assert.match(String(error?.message), /^forward port: the connection broke: .*reset by peer/);

    // Its system ends its connections.
    const end = once(ended, "end");
    await sandbox.execs.kill(id, "SIGKILL");
    await end;
    const closed = once(ended, "close");
    ended.end();
    await closed;
    await assert.rejects(async () => allOf(await dial(other.port)), isReset);
  });

  it("resets a connection before a listener hears of it, which may throw", async (test) => {
    const nobody = await freePort();
    const thrown = new Error("of the listener");
    const onConnectionError = () => {
      throw thrown;
    };
    /** @type {unknown[]} */
    const uncaught = [];
    const listener = (/** @type {unknown} */ error) => void uncaught.push(error);
    process.setUncaughtExceptionCaptureCallback(listener);
    test.after(() => process.setUncaughtExceptionCaptureCallback(null));
    const forwarded = await forward(sandbox, nobody, { localPort: 0, onConnectionError });
    await assert.rejects(async () => allOf(await dial(forwarded.port)), { code: "ECONNRESET" });
    assert.deepEqual(uncaught, [thrown]);
  });

  it("reaches what begins to listen later", async () => {
    const port = await freePort();
    const forwarded = await forward(sandbox, port, { localPort: 0 });
    const code = `require("net").createServer((socket) => socket.end("late")).listen(${port}, "127.0.0.1")`;
    await sandbox.execs.create({ command: process.execPath, args: ["-e", code] });
    await sandbox.ports.waitFor(port, { timeoutMs: 60_000 });
    assert.equal(String(await allOf(await dial(forwarded.port))), "late");
  });

  it("takes the same port here if that is free, and says where it listens", async () => {
    const { port } = await serve(ECHO);
    // The sandbox is on this machine: its port is taken.
    const other = await forwardPort(sandbox, port);
    assert.notEqual(other.port, port);
    assert.equal(other.host, "127.0.0.1");
    const taken = await failure(forwardPort(sandbox, port, { localPort: other.port }));
    assert.ok(isSandpipeError(taken, "system"));
    assert.equal(taken.errno, "EADDRINUSE");
    assert.match(taken.message, /Choose another `localPort`, or 0 for one that is free\.$/);
    const free = await freePort();
    const same = await forwardPort(sandbox, free);
    assert.equal(same.port, free);
    await Promise.all([same.close(), other.close()]);
  });

  it("leaves nothing when it is closed", async () => {
    const { port } = await serve(ECHO);
    const forwarded = await forwardPort(sandbox, port, { localPort: 0 });
    const socket = await dial(forwarded.port);
    socket.write("x");
    await once(socket, "data");
    const closed = assert.rejects(once(socket, "close"), { code: "ECONNRESET" });
    await forwarded.close();
    await closed;
    const again = createServer().listen(forwarded.port, "127.0.0.1");
    await once(again, "listening");
    again.close();
    await forwarded.close();
  });

  it("ends with its sandbox", async () => {
    const { port } = await serve(ECHO);
    const other = await connect(agent);
    const forwarded = await forwardPort(other, port, { localPort: 0 });
    const socket = await dial(forwarded.port);
    socket.write("x");
    await once(socket, "data");
    const closed = assert.rejects(once(socket, "close"), { code: "ECONNRESET" });
    other.close();
    await closed;
    const again = createServer().listen(forwarded.port, "127.0.0.1");
    await once(again, "listening");
    again.close();
  });

  it("needs the agent's token", async () => {
    const { port } = await serve(ECHO);
    const stranger = await connect({ url: agent.url, token: "wrong" });
    const refused = new Promise((resolve) => {
      void forward(stranger, port, { localPort: 0, onConnectionError: resolve }).then(
        async (forwarded) => failure(allOf(await dial(forwarded.port))),
      );
    });
    const error = await refused;
    assert.ok(isSandpipeError(error, "http") && error.status === 401, String(error));
  });

  it("needs an agent that forwards ports", async () => {
    const without = await startAgent({ args: ["--without", "port-forward"] });
    const other = await connect(without);
    const error = await failure(forwardPort(other, 80));
    assert.ok(isSandpipeError(error, "unsupported") && error.feature === "port-forward");
    other.close();
    await without.stop();
    // There is no agent any more.
    const nobody = await connect(without);
    assert.ok(isSandpipeError(await failure(forwardPort(nobody, 80)), "network"));
  });

  it("says which argument is wrong", async () => {
    for (const [call, message] of /** @type {const} */ ([
      [() => forwardPort(/** @type {never} */ ({}), 1), /`sandbox` must be/],
      [() => forwardPort(sandbox, 0), /`port` must be a port from 1 to 65535, but is the number 0/],
      [() => forwardPort(sandbox, 1, { localPort: 70_000 }), /`options.localPort` must be/],
      [() => forwardPort(sandbox, 1, { host: "" }), /`options.host` must be/],
      [
        () => forwardPort(sandbox, 1, /** @type {never} */ ({ onConnectionError: 1 })),
        /`options.onConnectionError` must be/,
      ],
      [() => forwardPort(sandbox, 1, /** @type {never} */ ({ local: 1 })), /one with "local"/],
    ])) {
      const error = await failure(call());
      assert.ok(isSandpipeError(error, "invalid_argument"), String(error));
      assert.match(error.message, message);
    }
  });
});
