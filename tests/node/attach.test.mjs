// @ts-check
// A terminal at an exec, over each way that there is to one.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, afterEach, before, describe, it } from "node:test";

import { ClosedError, connect, HttpError, InvalidArgumentError } from "sandpipe";
import { startAgent } from "sandpipe/node";
import { until } from "../support/processes.mjs";
import { Relay } from "../support/relay.mjs";

/**
 * @typedef {import("sandpipe").Terminal} Terminal
 * @typedef {{ name: string, sockets: boolean, args: string[], own?: { headers: Record<string, string> } }} Way
 */

/** @type {Way[]} */
const WAYS = [
  { name: "a WebSocket", sockets: true, args: [] },
  { name: "streams, with headers of the caller's", sockets: false, args: [], own: { headers: {} } },
  {
    name: "streams, with an agent that has no extension",
    sockets: false,
    args: ["--without", "all"],
  },
];

const RealWebSocket = globalThis.WebSocket;

/** @param {WebSocket} socket */
const isClosed = (socket) => socket.readyState === RealWebSocket.CLOSED;

for (const { name, sockets, args, own } of WAYS) {
  describe(`attach over ${name}`, () => {
    /** @type {Awaited<ReturnType<typeof startAgent>>} */
    let agent;
    /** @type {Relay} */
    let relay;
    /** @type {import("sandpipe").Sandbox} */
    let sandbox;
    /** The WebSockets that were made. @type {WebSocket[]} */
    let made = [];
    /** @type {Terminal[]} */
    let terminals = [];

    before(async () => {
      globalThis.WebSocket = class extends RealWebSocket {
        /** @param {string | URL} url */
        constructor(url) {
          super(url);
          made.push(this);
        }
      };
      agent = await startAgent({ args: [...args, "--allow-host", "127.0.0.1"] });
      relay = new Relay(agent.url);
      sandbox = await connect({ ...agent, ...own, url: await relay.listen() });
    });
    // A connection that stays is a failure of one test, and hangs no others.
    const timeout = 120_000;
    afterEach(async () => {
      relay.breakAfter = Infinity;
      const [opened, used] = [made, terminals];
      [made, terminals] = [[], []];
      assert.equal(opened.length > 0, sockets, "whether WebSockets were used");
      // Before the execs go: the agent would close what the client has left open.
      for (const terminal of used) terminal.close();
      await until(() => opened.every(isClosed));
      for (const exec of await sandbox.execs.list()) await sandbox.execs.delete(exec.id);
    });
    after(async () => {
      sandbox.close();
      await relay.close();
      await agent.stop();
      globalThis.WebSocket = RealWebSocket;
    });

    /**
     * @param {string} script
     * @param {Partial<import("sandpipe").CreateExecRequest>} [settings]
     */
    async function attached(script, settings) {
      const request = { command: "sh", args: ["-c", script], ...settings };
      const { id } = await sandbox.execs.create(request);
      const terminal = await sandbox.execs.attach(id);
      terminals.push(terminal);
      return terminal;
    }

    /**
     * Reads on until a text has come; gives what has come.
     *
     * @param {Terminal} terminal
     * @param {string} text
     */
    async function readUntil(terminal, text) {
      let output = "";
      while (!output.includes(text)) {
        const { done, value } = await terminal.output.next();
        assert.ok(!done, `the output ended before ${text}: ${output}`);
        output += value.output;
      }
      return output;
    }

    it("an interactive shell is typed into, resized, and tells its exit code", async () => {
      // Root's prompt would be another than other users'.
      const terminal = await attached("", { args: ["-i"], pty: true, env: { PS1: "# " } });
      await readUntil(terminal, "# ");
      await terminal.resize(100, 30);
      await terminal.write("stty size; tty\r");
      assert.match(await readUntil(terminal, "/dev/pts/"), /\b30 100\r\n/);
      await terminal.write("exit 7\r");
      let last;
      for await (const event of terminal) last = event;
      assert.equal(last?.exitCode, 7);
      assert.equal(await terminal.exited, 7);
    });

    it("stdout and stderr are told apart, and events are as streamOutput has them", async () => {
      const terminal = await attached("echo out; echo err >&2; exit 3");
      const events = [];
      for await (const { type, output, sequence, exitCode } of terminal.output) {
        events.push({ type, output, sequence, exitCode });
      }
      const { id } = /** @type {import("sandpipe").ExecItem} */ ((await sandbox.execs.list())[0]);
      const streamed = [];
      for await (const { type, output, sequence, exitCode } of sandbox.execs.streamOutput(id)) {
        streamed.push({ type, output, sequence, exitCode });
      }
      assert.deepEqual(events, streamed);
      assert.deepEqual(
        events.map(({ type, output }) => [type, output]),
        [
          ["stdout", "out\n"],
          ["stderr", "err\n"],
          ["stdout", ""],
        ],
      );
    });

    it("the exit code comes without reading the output, also before the end", async () => {
      const terminal = await attached("seq 1 1000; read x; exit 5");
      const { exited } = terminal;
      await terminal.write("\n");
      assert.equal(await exited, 5);
    });

    it("what is typed without waiting arrives in order, each once", async () => {
      const terminal = await attached("head -n 500");
      const typed = Array.from({ length: 500 }, (_, number) => `${number}\n`);
      await Promise.all(typed.map((text) => terminal.write(text)));
      let output = "";
      for await (const event of terminal) output += event.output;
      assert.equal(output, typed.join(""));
    });

    it("3 MB are typed at once", async () => {
      const text = "0123456789é\n".repeat(250_000);
      const terminal = await attached(`head -c ${Buffer.byteLength(text)} | sha256sum`);
      const reading = readUntil(terminal, "-\n");
      await terminal.write(text);
      assert.equal((await reading).split(" ")[0], createHash("sha256").update(text).digest("hex"));
    });

    it("a broken connection is not noticed in the output", async () => {
      const before = relay.broken;
      const terminal = await attached("seq 1 200000; exit 4");
      relay.breakAfter = 300_000;
      let output = "";
      let exitCode;
      for await (const event of terminal) {
        output += event.output;
        ({ exitCode } = event);
      }
      const expected = Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join("");
      assert.ok(output === expected, `${output.length} characters, not ${expected.length}`);
      assert.equal(exitCode, 4);
      assert.ok(relay.broken - before >= 3, `${relay.broken - before} connections were broken`);
    });

    it("leaving the loop closes the connection and the command goes on", async () => {
      const terminal = await attached("echo here; read x; exit 6");
      for await (const event of terminal) {
        assert.equal(event.output, "here\n");
        break;
      }
      await until(() => made.every(isClosed));
      await terminal.write("\n");
      assert.equal(await terminal.exited, 6);
    });

    it("close ends what is under way, and the command goes on", async () => {
      const terminal = await attached("echo here; read x; exit 6");
      await readUntil(terminal, "here\n");
      const reading = terminal.output.next();
      const { exited } = terminal;
      terminal.close();
      await assert.rejects(exited, ClosedError);
      await assert.rejects(reading, ClosedError);
      await assert.rejects(terminal.write("x"), ClosedError);
      assert.equal((await sandbox.execs.list())[0]?.status, "RUNNING");
    });

    it(
      "close ends a connection that nobody reads, also while a text waits",
      { timeout },
      async () => {
        const terminal = await attached("echo here; exec sleep 60");
        await readUntil(terminal, "here\n");
        const writing = terminal.write("x".repeat(1_000_000));
        terminal.close();
        await assert.rejects(writing, ClosedError);
        await until(() => made.every(isClosed));
        await assert.rejects(terminal.write("x"), ClosedError);
      },
    );

    it("leaving the loop lets a text arrive that is on its way", async () => {
      const terminal = await attached(
        "echo here; sleep 0.2; head -c 1000000 | wc -c; exec sleep 60",
      );
      await readUntil(terminal, "here\n");
      const writing = terminal.write("x".repeat(1_000_000));
      await terminal.output.return?.();
      await writing;
    });

    it("a text arrives however much output is left unread", { timeout }, async () => {
      const terminal = await attached("seq 1 500000; head -c 1000000 | wc -c; seq 1 9");
      await terminal.output.next();
      await terminal.write("x".repeat(1_000_000));
    });

    it("a reader that is slow is no failure", async () => {
      /** @type {string[]} */
      const calls = [];
      const retry = { shouldRetry: () => calls.push("retry") < 0 };
      const impatient = await connect({ ...agent, ...own, retry });
      const { id } = await impatient.execs.create({ command: "seq", args: ["1", "600000"] });
      const terminal = await impatient.execs.attach(id);
      let length = (await terminal.output.next()).value?.output.length ?? 0;
      await until(async () => (await sandbox.execs.get(id)).exitCode === 0);
      // More has come than is kept.
      await until(() => made.every(isClosed));
      for await (const { output } of terminal) length += output.length;
      impatient.close();
      assert.equal(length, 4_088_895);
      assert.deepEqual(calls, []);
    });

    it("17 MB are typed at once", async () => {
      const terminal = await attached("head -c 17000000 | wc -c");
      const reading = readUntil(terminal, "17000000\n");
      await terminal.write("x".repeat(17_000_000));
      await reading;
    });

    it("a reader that does not read on holds neither the command nor much memory", async () => {
      const terminal = await attached("head -c 30000000 /dev/zero | tr '\\0' x; exit 2");
      const first = await terminal.output.next();
      const { id } = /** @type {import("sandpipe").ExecItem} */ ((await sandbox.execs.list())[0]);
      await until(async () => (await sandbox.execs.get(id)).exitCode === 2);
      // A WebSocket can't be told to wait: it is closed, and another one brings the rest.
      await until(() => made.every(isClosed));
      let length = first.value?.output.length ?? 0;
      for await (const { output } of terminal) length += output.length;
      assert.equal(length, 30_000_000);
      if (sockets) assert.ok(made.length > 1, "all of it was kept until it was read");
    });

    it("wrong sizes and texts are refused", async () => {
      const terminal = await attached("read x; exit 1");
      for (const [cols, rows] of [
        [0, 1],
        [1, 65_536],
        [1.5, 1],
        ["80", 24],
      ]) {
        const resized = terminal.resize(/** @type {number} */ (cols), /** @type {number} */ (rows));
        await assert.rejects(resized, InvalidArgumentError);
      }
      await assert.rejects(terminal.write(/** @type {any} */ (1)), InvalidArgumentError);
      await assert.rejects(terminal.resize(80, 24), (error) => {
        return error instanceof HttpError && error.status === 400 && /terminal/.test(error.message);
      });
      await terminal.write("\n");
      assert.equal(await terminal.exited, 1);
    });
  });
}

describe("attach", () => {
  it("needs an exec that exists", async () => {
    const agent = await startAgent();
    const { execs } = await connect(agent);
    try {
      await assert.rejects(execs.attach("nowhere"), { name: "HttpError", status: 404 });
      await assert.rejects(execs.attach(""), InvalidArgumentError);
    } finally {
      await agent.stop();
    }
  });
});
