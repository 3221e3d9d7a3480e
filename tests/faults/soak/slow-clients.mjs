// @ts-check
/** Clients without a token that hold their places, beside one that works. */

import assert from "node:assert/strict";
import { connect as connectSocket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { connect } from "sandpipe";
import { memoryOf, startLimitedAgent } from "./limited-agent.mjs";
import { Row } from "./row.mjs";

const CLIENTS = 1000;

/** Fewer than there are clients: they don't all get a place. */
const DESCRIPTORS = 512;

/** How long they are there in a run. */
const TOGETHER_MS = 20_000;

const ANSWER_TIMEOUT_MS = 30_000;

/** What the agent may take more of than before, in bytes. */
const MEMORY = 64 << 20;

/**
 * How a client behaves that has been connected; called again after an end by the agent.
 *
 * @type {Record<string, (socket: import("node:net").Socket, asset: string) => void>}
 */
const CLIENTS_THAT = {
  "never read"(socket, asset) {
    socket.pause();
    socket.write(`GET ${asset} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(50));
  },
  "don't finish their heads"(socket) {
    socket.resume();
    const line = `X-Filler: ${"x".repeat(4000)}\r\n`;
    socket.write(`GET /health HTTP/1.1\r\nHost: localhost\r\n${line.repeat(15)}`);
  },
  "send a byte at a time"(socket, asset) {
    socket.resume();
    const head = `GET ${asset} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    let sent = 0;
    const timer = setInterval(() => {
      socket.write(head[sent++ % head.length] ?? "");
    }, 500);
    socket.once("close", () => clearInterval(timer));
  },
};

/** @type {import("./row.mjs").Scenario} */
export const slowClients = {
  name: "slow-clients",
  async run(deadline) {
    const rows = Object.entries(CLIENTS_THAT).map(([what, behave]) => ({
      row: new Row(`slow clients: ${CLIENTS} that ${what}`),
      behave,
    }));
    do {
      for (const { row, behave } of rows) await row.once((promises) => once(promises, behave));
    } while (performance.now() < deadline);
    return rows.map(({ row }) => row);
  },
};

/**
 * @param {import("./row.mjs").Promises} promises
 * @param {(socket: import("node:net").Socket, asset: string) => void} behave
 */
async function once(promises, behave) {
  const limited = await startLimitedAgent({ limits: [`--nofile=${DESCRIPTORS}:${DESCRIPTORS}`] });
  const sandbox = await connect(limited.agent);
  /** @type {Set<import("node:net").Socket>} */
  const sockets = new Set();
  let over = false;
  try {
    const asset = await largestAsset(limited.agent.url);
    const before = await memoryOf(limited.pid, "VmRSS");
    const { hostname, port } = new URL(limited.agent.url);
    const join = () => {
      const socket = connectSocket(Number(port), hostname);
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("connect", () => behave(socket, asset));
      socket.once("close", () => {
        sockets.delete(socket);
        // It comes again.
        if (!over) setTimeout(() => over || join(), 1000).unref();
      });
    };
    for (let client = 0; client < CLIENTS; client++) join();
    promises.struck += CLIENTS;

    const end = performance.now() + TOGETHER_MS;
    let most = 0;
    do {
      await promises.keeps("a command runs", ANSWER_TIMEOUT_MS, async () => {
        const { exitCode, output } = await sandbox.execs.exec("sh", ["-c", "echo hello; exit 7"]);
        assert.deepEqual({ exitCode, output }, { exitCode: 7, output: "hello\n" });
      });
      await promises.keeps("a new connection is answered", ANSWER_TIMEOUT_MS, async () => {
        const answer = await fetch(`${limited.agent.url}/health`, {
          headers: { connection: "close" },
        });
        assert.equal(answer.status, 200);
        await answer.text();
      });
      most = Math.max(most, await memoryOf(limited.pid, "VmRSS"));
      await pause(100);
    } while (performance.now() < end && promises.broken.length === 0);
    await promises.keeps("memory is bounded", 1000, async () => {
      const more = most - before;
      assert.ok(more <= MEMORY, `more than ${MEMORY >> 20} MiB more than before`);
    });
  } finally {
    over = true;
    for (const socket of sockets) socket.destroy();
    sandbox.close();
    await limited.stop();
  }
}

/** The path of the console's script, or of what else is large and needs no token. @param {string} url */
async function largestAsset(url) {
  const page = await (await fetch(url)).text();
  return /\/assets\/[^"]+\.js/.exec(page)?.[0] ?? "/openapi.json";
}
