// What a caller is told when the agent, the network or the address is not what it should be. The
// servers here are real ones that answer wrongly.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, afterEach, before, describe, it } from "node:test";

import {
  background,
  connect,
  ExitCodeMissingError,
  HttpError,
  isSandpipeError,
  OutputLostError,
  ProtocolError,
  SandpipeError,
} from "sandpipe";
import { startAgent } from "sandpipe/node";
import { until } from "../support/processes.mjs";
import { interruptedBy } from "../support/interrupted.mjs";

/** @typedef {import("node:http").RequestListener} RequestListener */

const EXEC = {
  id: "exec-1",
  command: "x",
  args: [],
  status: "RUNNING",
  pid: 1,
  pty: false,
  exitCode: -1,
};

/** What is tried again is tried soon. */
const SOON = { retry: { baseDelayMs: 1 } };

/** @param {unknown} body */
const json = (body) => JSON.stringify(body);

/** @param {number} sequence @param {string} output @param {object} more */
const event = (sequence, output, more = {}) =>
  `data: ${json({ type: "stdout", output, sequence, ...more })}\n\n`;

describe("errors", () => {
  /** @type {Array<import("node:http").Server>} */
  const servers = [];

  /**
   * An address where `answer` answers.
   * @param {RequestListener} answer
   */
  const serve = async (answer) => {
    const server = createServer(answer).listen(0, "127.0.0.1");
    servers.push(server);
    await once(server, "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    return `http://127.0.0.1:${port}`;
  };

  /**
   * An agent that creates every exec and streams this of its output.
   * @param {(response: import("node:http").ServerResponse) => void} stream
   * @param {object} [state] what has become of the exec
   */
  const streaming = async (stream, state) => {
    const url = await serve((request, response) => {
      if (request.url?.startsWith("/api/v1/stream/")) {
        response.writeHead(200, { "content-type": "text/event-stream" });
        stream(response);
      } else if (request.url === "/health") {
        response.writeHead(404).end();
      } else {
        const status = request.method === "POST" ? 201 : 200;
        response
          .writeHead(status, { "content-type": "application/json" })
          .end(json({ ...EXEC, ...state }));
      }
    });
    return (await connect({ url, ...SOON })).execs;
  };

  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });

  describe("of a real agent", () => {
    /** @type {Awaited<ReturnType<typeof startAgent>>} */
    let agent;
    before(async () => {
      agent = await startAgent();
    });
    after(() => agent.stop());

    it("tells of a wrong token and of a missing one", async () => {
      for (const token of [{ token: "wrong" }, {}]) {
        const { execs } = await connect({ url: agent.url, ...token });
        await assert.rejects(execs.exec("true"), (error) => {
          assert.ok(error instanceof HttpError && error instanceof SandpipeError);
          assert.deepEqual(
            [error.code, error.status, error.operation],
            ["http", 401, "create exec"],
          );
          assert.match(
            error.message,
            /create exec: the agent answered 401: .*Pass the agent's token to connect\(\) as `token`/,
          );
          assert.equal(error.hint, "Pass the agent's token to connect() as `token`.");
          assert.equal(JSON.parse(error.body ?? "").code, 401);
          return true;
        });
      }
    });

    it("tells of input that a gateway refuses for reasons of its own", async () => {
      const { execs } = await connect({
        ...agent,
        fetch: async (input, init) =>
          String(input).endsWith("/io")
            ? new Response("<html>", { status: 400 })
            : fetch(input, init),
      });
      // One that ended would say how much it got.
      const counting = execs.exec("sh", ["-c", "cat; echo done; exec sleep 1000"], { input: "x" });
      await assert.rejects(counting, (error) => {
        assert.ok(error instanceof ExitCodeMissingError, String(error));
        assert.match(error.message, /its input could not be delivered: .* answered 400/);
        return true;
      });
    });

    it("tells of an exec that does not exist", async () => {
      const { execs } = await connect(agent);
      for (const call of [
        () => execs.get("none"),
        () => execs.wait("none"),
        () => execs.getOutput("none"),
        () => execs.delete("none"),
        () => execs.streamOutput("none").next(),
      ]) {
        await assert.rejects(call(), (error) => {
          assert.ok(error instanceof HttpError && error.status === 404);
          assert.match(error.message, /none/);
          return true;
        });
      }
    });

    it("tells of a directory and a user that do not exist", async () => {
      const { execs } = await connect(agent);
      for (const [options, value] of /** @type {const} */ ([
        [{ cwd: "/no/such" }, "/no/such"],
        [{ user: "nobody-xyz" }, "nobody-xyz"],
      ])) {
        await assert.rejects(execs.exec("true", [], options), (error) => {
          assert.ok(error instanceof HttpError && error.status === 400, String(error));
          assert.ok(error.message.includes(value), error.message);
          return true;
        });
      }
    });

    it("tells of an address below the agent's", async () => {
      const { execs } = await connect({ url: `${agent.url}/api`, token: agent.token });
      await assert.rejects(
        execs.list(),
        (error) => error instanceof HttpError && error.status === 404,
      );
    });
  });

  it("tells of a refused connection", async () => {
    const url = await serve(() => {});
    servers[0]?.close();
    const { execs } = await connect({ url, ...SOON });
    await assert.rejects(execs.exec("true"), (error) => {
      assert.ok(error instanceof HttpError);
      assert.deepEqual([error.code, error.status], ["network", 0]);
      assert.match(
        error.message,
        new RegExp(`create exec: no answer from ${url}: .*ECONNREFUSED.*Check that the agent runs`),
      );
      assert.ok(error.cause instanceof Error);
      return true;
    });
  });

  it("tells of a page where JSON should be", async () => {
    const page = "<!DOCTYPE html><title>Welcome</title>";
    for (const type of ["text/html", "application/json"]) {
      const url = await serve((_, response) =>
        response.writeHead(200, { "content-type": type }).end(page),
      );
      const { execs } = await connect({ url, ...SOON });
      for (const call of [
        () => execs.list(),
        () => execs.exec("true"),
        () => execs.getOutput("x"),
      ]) {
        await assert.rejects(call(), (error) => {
          assert.ok(error instanceof ProtocolError, String(error));
          assert.match(
            error.message,
            /<!DOCTYPE html>.*Check that the `url` given to connect\(\) is an agent's/,
          );
          assert.ok(error.excerpt.startsWith("<!DOCTYPE html>"));
          return true;
        });
      }
    }
  });

  it("tells of a proxy's error page", async () => {
    const url = await serve((_, response) =>
      response.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad Gateway</h1>"),
    );
    const { execs } = await connect({ url, ...SOON });
    await assert.rejects(execs.list(), (error) => {
      assert.ok(error instanceof HttpError && error.status === 502);
      assert.equal(error.body, "<h1>Bad Gateway</h1>");
      return true;
    });
  });

  it("tells of an answer that is JSON of another kind", async () => {
    const url = await serve((_, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end('{"id":1}'),
    );
    const { execs } = await connect({ url, ...SOON });
    await assert.rejects(execs.get("x"), ProtocolError);
    await assert.rejects(execs.getOutput("x"), ProtocolError);
  });

  it("tells of broken JSON in an event, after the events before it", async () => {
    const execs = await streaming((response) => response.end(`${event(1, "a")}data: {"type":\n\n`));
    await assert.rejects(execs.exec("x"), (error) => {
      assert.ok(error instanceof ProtocolError);
      assert.equal(error.excerpt, '{"type":');
      return true;
    });
    /** @type {string[]} */
    const outputs = [];
    await assert.rejects(async () => {
      for await (const { output } of execs.streamOutput("exec-1")) outputs.push(output);
    }, ProtocolError);
    assert.deepEqual(outputs, ["a"]);
  });

  for (const [how, end] of /** @type {const} */ ([
    ["ends", (/** @type {import("node:http").ServerResponse} */ response) => response.end()],
    [
      "breaks",
      (/** @type {import("node:http").ServerResponse} */ response) =>
        setImmediate(() => response.destroy()),
    ],
  ])) {
    it(`rejects when the stream ${how} without an exit code, with the id and the output so far`, async () => {
      const execs = await streaming(
        (response) => {
          response.write(event(1, "so "), () =>
            response.write(event(2, "far"), () => end(response)),
          );
        },
        { status: "STOPPED" },
      );
      await assert.rejects(execs.exec("x"), (error) => {
        assert.ok(error instanceof ExitCodeMissingError, String(error));
        assert.ok(isSandpipeError(error, "exit_code_missing"));
        assert.deepEqual([error.execId, error.output], ["exec-1", "so far"]);
        assert.match(error.message, /execs\.wait\("exec-1"\)/);
        assert.equal(error.cause instanceof HttpError, how === "breaks");
        return true;
      });
      /** @type {string[]} */
      const outputs = [];
      await assert.rejects(async () => {
        for await (const { output } of execs.streamOutput("exec-1")) outputs.push(output);
      }, ExitCodeMissingError);
      assert.equal(outputs.join(""), "so far");
    });
  }

  for (const [what, state, exitCode] of /** @type {const} */ ([
    ["runs", {}, undefined],
    ["has ended", { status: "EXITED", exitCode: 5 }, 5],
    ["has no exit code", { status: "STOPPED" }, undefined],
    ["ended on a full disk", { status: "EXITED", exitCode: 5, outputError: "it is full" }, 5],
  ])) {
    it(`rejects when output is missing, and tells of a command that ${what}`, async () => {
      for (const missing of [
        event(4, "d", { exitCode: 0 }),
        `event: gap\ndata: ${json({ from: 2, to: 3 })}\n\n`,
      ]) {
        const execs = await streaming((response) => response.end(event(1, "a") + missing), state);
        /** @type {[() => Promise<unknown>, string][]} */
        const ways = [
          [() => execs.exec("x"), "a"],
          [() => execs.wait("exec-1"), "a"],
          [() => drain(execs.streamOutput("exec-1")), ""],
        ];
        for (const [way, output] of ways) {
          await assert.rejects(way(), (error) => {
            assert.ok(error instanceof OutputLostError, String(error));
            assert.deepEqual([error.execId, error.from, error.to], ["exec-1", 2, 3]);
            assert.deepEqual([error.output, error.exitCode], [output, exitCode]);
            assert.equal(/exit code 5/.test(error.message), exitCode === 5, error.message);
            const { outputError: reason } = { outputError: undefined, ...state };
            assert.equal(error.reason, reason);
            const why = reason ?? "the agent does not have them any more";
            assert.match(error.message, new RegExp(`are lost: ${why}[;.]`));
            return true;
          });
        }
      }
    });
  }

  it("tells of output that the agent no longer has, with the exit code", async () => {
    const agent = await startAgent({ args: ["--spool-limit", "65536"] });
    const { execs } = await connect(agent);
    const { id } = await execs.create({ command: "sh", args: ["-c", "seq 1 100000; exit 5"] });
    // One that reads meanwhile may keep up with it, and loses nothing.
    await until(async () => (await execs.get(id)).status === "EXITED");
    await assert.rejects(execs.wait(id), (error) => {
      assert.ok(error instanceof OutputLostError, String(error));
      assert.deepEqual([error.from, error.output, error.exitCode], [1, "", 5]);
      return true;
    });
    await assert.rejects(execs.getOutput(id), {
      ...{ name: "OutputLostError", output: "", exitCode: 5 },
    });
    await agent.stop();
  });

  it("tells of a fetch that resolves something else than a Response, and goes on working", async () => {
    const circle = new Error("round");
    circle.cause = circle;
    /** @type {Array<[() => Promise<unknown>, RegExp]>} */
    const cases = [
      [async () => undefined, /undefined/],
      [async () => ({}), /something that is no Response/],
      [async () => ({ status: 200, body: {} }), /getReader/],
      [() => Promise.reject(circle), /round: round/],
      [() => Promise.reject("a string"), /a string/],
    ];
    for (const [broken, message] of cases) {
      const fetch = /** @type {any} */ (broken);
      const { execs } = await connect({ url: "http://127.0.0.1:1", fetch, ...SOON });
      await assert.rejects(execs.list(), (error) => {
        assert.ok(error instanceof HttpError && error.code === "network", String(error));
        assert.match(error.message, message);
        return true;
      });
    }
  });

  it("has the caller in the stack of an error", async () => {
    const sandbox = await connect({ url: "http://127.0.0.1:1", retry: { maxAttempts: 1 } });
    const { execs } = sandbox;
    const calls = [
      async function calls() {
        await execs.list();
      },
      async function calls() {
        await connect(/** @type {any} */ ({}));
      },
      async function calls() {
        await background(sandbox, /** @type {any} */ ({ baseDir: 7 })).list();
      },
      async function calls() {
        await execs.streamOutput(/** @type {any} */ (7)).next();
      },
      async function calls() {
        for await (const event of execs.streamOutput("1")) assert.fail(event.output);
      },
    ];
    for (const call of calls) {
      await assert.rejects(call(), ({ stack }) => {
        assert.match(stack, /^\w+Error: .*\n(.*\n)* {4}at async calls \(/);
        return true;
      });
    }
  });

  it("is an error also where a signal is aborted without a reason", async () => {
    const never = { run: () => new Promise(() => {}) };
    const signal = Object.assign(new EventTarget(), { aborted: true, reason: undefined });
    const waiting = background(never).wait("1", { signal: /** @type {any} */ (signal) });
    await assert.rejects(waiting, interruptedBy(undefined));
  });

  it("knows its errors across copies of the package", () => {
    const foreign = { code: "http", [Symbol.for("sandpipe.error")]: true };
    assert.ok(isSandpipeError(foreign));
    assert.ok(isSandpipeError(foreign, "http"));
    assert.ok(!isSandpipeError(foreign, "network"));
    for (const other of [new Error("x"), null, undefined, "x"]) assert.ok(!isSandpipeError(other));
  });
});

/** @param {AsyncIterable<unknown>} events */
async function drain(events) {
  for await (const _ of events);
}
