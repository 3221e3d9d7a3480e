// How requests get to the agent in Node.js: over connections that are kept, elsewhere where an answer says so,
// and not at all where there is no connection. The servers here are real ones.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { connect as connectSocket, createServer as createSocketServer } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";

import { ClosedError, connect, HttpError } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { firstLine } from "../support/first-line.mjs";
import { holdTimers } from "../support/held-timers.mjs";
import { httpServers, noExecs } from "../support/http-servers.mjs";
import { until } from "../support/processes.mjs";

/** @typedef {import("node:http").RequestListener} RequestListener */
/** @typedef {import("node:net").Socket} Socket */

/** A key, and its certificate for `localhost`. */
const LOCALHOST = join(import.meta.dirname, "localhost.pem");

const LAST = `data: {"type":"stdout","output":"x","sequence":1,"exitCode":3}\n\n`;

/** How long a connection may take to be made. */
const CONNECT_TIMEOUT_MS = 10_000;

/** No answer is to be waited for twice. */
const ONCE = { retry: { maxAttempts: 1 } };

describe("connections", () => {
  const { begun, listen, serve } = httpServers();

  it("serves request after request, and streams that are left after their exit event", async () => {
    const server = createServer((request, response) => {
      if (request.url === "/api/v1/execs") return void noExecs(request, response);
      const headers = { "content-type": "text/event-stream", "content-length": LAST.length };
      response.writeHead(200, headers).end(LAST);
    });
    begun.push(() => server.closeAllConnections());
    let connections = 0;
    server.on("connection", () => connections++);
    const { execs } = await connect({ url: await listen(server) });
    for (let i = 0; i < 10; i++) assert.deepEqual(await execs.list(), []);
    assert.equal(connections, 1);
    for (let i = 0; i < 10; i++) {
      assert.deepEqual({ ...(await execs.wait("1")) }, { exitCode: 3, output: "x" });
    }
    // The next may be asked for before the one before has been left.
    assert.ok(connections <= 2, `${connections} connections`);
  });

  it("reads the end of a stream that comes after its exit event, also when all is closed", async () => {
    const { server, streams } = streamsThatStayOpen();
    let connections = 0;
    server.on("connection", () => connections++);
    const url = await listen(server);
    for (let i = 0; i < 10; i++) {
      const sandbox = await connect({ url });
      assert.deepEqual({ ...(await sandbox.execs.wait("1")) }, { exitCode: 3, output: "x" });
      sandbox.close();
      const stream = streams.pop();
      assert(stream);
      stream.end();
      await once(stream, "close");
    }
    // The next may be asked for before the one before has been left.
    assert.ok(connections <= 2, `${connections} connections`);
  });

  it("closes a stream that does not end after its exit event", async () => {
    const { server, streams } = streamsThatStayOpen();
    const { execs } = await connect({ url: await listen(server) });
    assert.deepEqual({ ...(await execs.wait("1")) }, { exitCode: 3, output: "x" });
    const [stream] = streams;
    assert(stream);
    await once(stream, "close");
  });

  /** A server of streams that are left open after their exit event. */
  const streamsThatStayOpen = () => {
    /** @type {import("node:http").ServerResponse[]} */
    const streams = [];
    const server = createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(LAST);
      streams.push(response);
    });
    begun.push(() => server.closeAllConnections());
    return { server, streams };
  };

  it("asks for an answer as it is, with the caller's headers", async () => {
    /** @type {import("node:http").IncomingHttpHeaders} */
    let sent = {};
    const url = await serve((request, response) => {
      sent = request.headers;
      noExecs(request, response);
    });
    const headers = { "X-Trace": "1", "User-Agent": "mine", "Accept-Encoding": "gzip" };
    const { execs } = await connect({ url, headers });
    await execs.list();
    assert.equal(sent["accept-encoding"], "identity");
    assert.equal(sent["x-trace"], "1");
    assert.equal(sent["user-agent"], "mine");
  });

  it("says that an answer comes compressed", async () => {
    const url = await serve((_, response) => {
      const headers = { "content-type": "application/json", "content-encoding": "gzip" };
      response.writeHead(200, headers).end(gzipSync('{"execs":[]}'));
    });
    const { execs } = await connect({ url, ...ONCE });
    await assert.rejects(execs.list(), /comes encoded: gzip/);
  });

  it("stops a command however few connections the program allows", async () => {
    const script = `
      import http from "node:http";
      http.globalAgent = new http.Agent({ keepAlive: true, maxSockets: 1, maxTotalSockets: 1 });
      const { connect } = await import("sandpipe");
      const { startAgent } = await import("sandpipe/node");
      const agent = await startAgent();
      const { execs } = await connect(agent);
      const stop = new AbortController();
      const running = execs.exec("sh", ["-c", "echo begun; exec sleep 600"], {
        signal: stop.signal,
        onOutput: () => stop.abort(),
      });
      console.log(await running.catch(({ code, output }) => code + " " + output));
      await agent.stop();`;
    assert.equal(await run(script), "interrupted begun\n\n");
  });

  it("ends with the program where a server answers and does not read", async () => {
    const server = createSocketServer((socket) => {
      // It takes the beginning of the request, and no more.
      socket.once("data", () => {
        socket.pause();
        socket.write("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
      });
    });
    /** @type {Socket[]} */
    const sockets = [];
    server.on("connection", (socket) => sockets.push(socket.on("error", () => undefined)));
    begun.push(() => sockets.forEach((socket) => socket.destroy()));
    const script = `
      import { connect } from "sandpipe";
      const { execs } = await connect({ url: process.argv[1] });
      const sending = execs.sendStdin("1", { input: "x".repeat(20_000_000) });
      console.log(await sending.catch(({ status }) => status));`;
    assert.equal(await run(script, await listen(server)), "404\n");
  });

  it("uses one connection for command after command", async () => {
    const agent = await startAgent();
    let connections = 0;
    const relay = createSocketServer((client) => {
      connections++;
      const server = connectSocket(Number(new URL(agent.url).port), "127.0.0.1");
      client.pipe(server).pipe(client);
      for (const socket of [client, server]) socket.on("error", () => undefined);
    });
    const sandbox = await connect({ ...agent, url: await listen(relay) });
    const { execs } = sandbox;
    await execs.exec("true");
    connections = 0;
    for (let count = 0; count < 20; count++) await execs.exec("true");
    const { id } = await execs.create({ command: "true", args: [] });
    for (let count = 0; count < 20; count++) for await (const _ of execs.streamOutput(id));
    // The next one may begin before the last answer has come to its end.
    assert.ok(connections <= 4, `${connections} connections`);
    sandbox.close();
    await agent.stop();
    relay.close();
  });

  it("ends with the program where an answer does not end after the exit code", async () => {
    const url = await serve((request, response) => {
      if (request.url === "/health") return void response.writeHead(404).end();
      if (request.method === "POST") {
        const exec = { id: "1", command: "x", args: [], status: "RUNNING", pid: 1, pty: false };
        response.writeHead(201, { "content-type": "application/json" });
        return void response.end(JSON.stringify({ ...exec, exitCode: -1 }));
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"type":"stdout","output":"","sequence":1,"exitCode":3}\n\n');
    });
    const script = `
      import { connect } from "sandpipe";
      const { execs } = await connect({ url: process.argv[1] });
      const { exitCode } = await execs.exec("x");
      // What keeps the process alive.
      const held = process.getActiveResourcesInfo().filter((name) => /Timeout|TCP/.test(name));
      console.log(exitCode, held.length);`;
    assert.equal(await run(script, url), "3 0\n");
  });

  for (const [how, end, message] of /** @type {const} */ ([
    ["closed", "destroy", /the connection was lost\. /],
    ["reset", "resetAndDestroy", /the connection was lost: read ECONNRESET\. /],
  ])) {
    it(`says that a connection was ${how} amid an answer`, async () => {
      /** @type {Socket | undefined} */
      let socket;
      const url = await serve((request, response) => {
        socket = request.socket;
        const headers = { "content-type": "text/event-stream" };
        response.writeHead(200, headers).write('data: {"execs":[]}\n\n');
      });
      const { execs } = await connect({ url, retry: { shouldRetry: () => false } });
      const lists = execs.streamList()[Symbol.asyncIterator]();
      await lists.next();
      socket?.[end]();
      await assert.rejects(lists.next(), message);
    });
  }

  it("is closed although a page comes in place of its answer, and does not end", async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" }).flushHeaders();
    });
    for (const what of /** @type {const} */ (["list", "exec"])) {
      const sandbox = await connect({
        ...{ url, ...ONCE },
        fetch: async (address, init) => {
          const answer = await fetch(address, init);
          // The client reads the page by then.
          setImmediate(() => sandbox.close());
          return answer;
        },
      });
      await assert.rejects(sandbox.execs[what]("true"), ClosedError);
    }
  });

  it("says that a server wants to speak another protocol", async () => {
    const url = await serve((request) => {
      request.socket.end(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
      );
    });
    const { execs } = await connect({ url, ...ONCE });
    await assert.rejects(execs.list(), /another protocol/);
  });

  describe("over TLS", () => {
    let asked = 0;
    const secure = async () => {
      const pem = readFileSync(LOCALHOST);
      const server = createSecureServer({ key: pem, cert: pem }, (request, response) => {
        asked++;
        noExecs(request, response);
      });
      begun.push(() => server.closeAllConnections());
      return listen(server, "https");
    };

    it("trusts what Node trusts", async () => {
      const script = `
        import { connect } from "sandpipe";
        const { execs } = await connect({ url: process.argv[1] });
        console.log(await execs.list());`;
      const stdout = await run(script, await secure(), { NODE_EXTRA_CA_CERTS: LOCALHOST });
      assert.deepEqual([stdout, asked], ["[]\n", 1]);
    });

    it("takes no token to the same address without TLS", async () => {
      const pem = readFileSync(LOCALHOST);
      let plain = 0;
      const servers = {
        plain: createServer((request, response) => {
          plain++;
          noExecs(request, response);
        }),
        secure: createSecureServer({ key: pem, cert: pem }, ({ headers, url }, response) => {
          response.writeHead(307, { location: `http://${headers.host}${url}` }).end();
        }),
      };
      // It speaks both, each where a client begins with it.
      const either = createSocketServer((socket) => {
        begun.push(() => socket.destroy());
        socket.once("data", (first) => {
          const isHandshake = first[0] === 22;
          socket.pause();
          socket.unshift(first);
          servers[isHandshake ? "secure" : "plain"].emit("connection", socket);
          process.nextTick(() => socket.resume());
        });
      });
      const script = `
        import { connect } from "sandpipe";
        for (const own of [{}, { fetch: globalThis.fetch }]) {
          const [url, token] = [process.argv[1], "secret"];
          const { execs } = await connect({ url, token, retry: { maxAttempts: 1 }, ...own });
          console.log(await execs.list().catch(({ status, message }) => status + " " + message));
        }`;
      const url = await listen(either, "https");
      const stdout = await run(script, url, { NODE_EXTRA_CA_CERTS: LOCALHOST });
      assert.match(stdout, /^(307 .*nothing but a GET without credentials.*\n){2}$/);
      assert.equal(plain, 0);
    });

    it("takes a connection as it is that is handed over after the handshake", async () => {
      // As Node.js does it that goes through a proxy. Once it is handed over, the time passes in
      // which a connection has to be made.
      const script = `
        import { Agent } from "node:https";
        import { connect as connectTls } from "node:tls";
        import { holdTimers } from "../support/held-timers.mjs";
        const timers = holdTimers(${CONNECT_TIMEOUT_MS});
        let held = 0;
        Agent.prototype.createConnection = (options, handOver) => {
          const socket = connectTls(options, () => {
            held = timers.count(${CONNECT_TIMEOUT_MS});
            handOver(null, socket);
            setImmediate(() => timers.pass(${CONNECT_TIMEOUT_MS}));
          });
        };
        const { connect } = await import("sandpipe");
        const { execs } = await connect({ url: process.argv[1], retry: { maxAttempts: 1 } });
        console.log(await execs.list(), held);`;
      const stdout = await run(script, await secure(), { NODE_EXTRA_CA_CERTS: LOCALHOST });
      assert.equal(stdout, "[] 1\n");
    });

    it("asks nothing of a server that it does not trust", async () => {
      const { execs } = await connect({ url: await secure(), ...ONCE });
      asked = 0;
      await assert.rejects(execs.list(), /no connection: self-signed certificate/);
      assert.equal(asked, 0);
    });
  });

  // Other systems' queues of connections are longer than they were told.
  const skip = process.platform !== "linux";
  it("gives up a connection that is not made within 10 s: no command runs", { skip }, async (t) => {
    const server = await serverOfItsOwn();
    begun.push(server.end);
    const { execs } = await connect({ url: server.url, ...ONCE });
    const create = () => execs.create({ command: "x", args: [] });
    await assert.rejects(create(), { status: 400 });

    await server.fallDeaf();
    const timers = holdTimers(CONNECT_TIMEOUT_MS);
    t.after(() => timers.restore());
    const creating = create();
    await until(() => timers.count(CONNECT_TIMEOUT_MS) === 1);
    timers.pass(CONNECT_TIMEOUT_MS);
    await assert.rejects(creating, (error) => {
      // No CreateUnknownError.
      assert.ok(error instanceof HttpError && error.code === "network", String(error));
      assert.match(error.message, /no connection: not made within 10 s/);
      return true;
    });
  });
});

/**
 * What a script prints that runs in a process of its own, to its end.
 *
 * @param {string} script
 * @param {string} [argument]
 * @param {Record<string, string>} [env]
 */
async function run(script, argument = "", env = {}) {
  const args = ["--input-type=module", "--eval", script, argument];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: import.meta.dirname,
    env: { ...process.env, ...env },
  });
  return stdout;
}

/** A server in a process of its own, which refuses every create. */
async function serverOfItsOwn() {
  const script = `
    const server = require("node:http").createServer((request, response) => {
      const status = request.url === "/health" ? 404 : 400;
      request.resume().once("end", () => response.writeHead(status, { connection: "close" }).end());
    });
    server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => console.log(server.address().port));`;
  const server = spawn(process.execPath, ["--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const port = Number(await firstLine(server));
  /** @type {Socket[]} */
  const waiting = [];
  return {
    url: `http://127.0.0.1:${port}`,
    /** It takes no connection any more: as many as it can have waiting are waiting. */
    async fallDeaf() {
      server.kill("SIGSTOP");
      // The system finishes the handshakes of one more than it was told to keep.
      for (let i = 0; i < 2; i++) {
        const socket = connectSocket(port, "127.0.0.1");
        waiting.push(socket);
        await once(socket, "connect");
      }
    },
    end() {
      for (const socket of waiting) socket.destroy();
      server.kill("SIGKILL");
    },
  };
}
