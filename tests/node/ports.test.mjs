// The ports that are listened on in a sandbox.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { after, before, describe, it } from "node:test";

import { connect, isSandpipeError } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { freePort } from "../support/free-port.mjs";
import { Relay } from "../support/relay.mjs";
import { interruptedBy } from "../support/interrupted.mjs";

describe("ports", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {import("sandpipe").Sandbox} */
  let sandbox;

  before(async () => {
    agent = await startAgent();
    sandbox = await connect(agent);
  });
  after(() => agent.stop());

  /** An exec that listens on a port after a while. @param {number} port */
  const listen = (port) => {
    const script = `setTimeout(() => require("net").createServer().listen(${port}, "127.0.0.1"), 200)`;
    return sandbox.execs.create({ command: process.execPath, args: ["-e", script] });
  };

  it("are listed with who listens, and waited for", async () => {
    const port = await freePort();
    const { id } = await listen(port);
    const found = await sandbox.ports.waitFor(port, { exec: id, timeoutMs: 60_000 });
    assert.deepEqual([found.port, found.address, found.exec], [port, "127.0.0.1", id]);
    assert.deepEqual(await sandbox.ports.waitFor(port), found);
    const listed = await sandbox.ports.list();
    assert.deepEqual(
      listed.filter((one) => one.port === port),
      [found],
    );
    const agentsOwn = Number(new URL(agent.url).port);
    assert(!listed.some((one) => one.port === agentsOwn));
    await sandbox.execs.terminate(id);
  });

  it("are streamed whenever they change", async () => {
    const server = createServer();
    const seen = [];
    for await (const { ports } of sandbox.ports.streamList()) {
      const address = server.address();
      const own = address !== null && typeof address === "object" ? address.port : 0;
      const isListed = ports.some(({ port }) => port === own);
      if (seen.length === 0) {
        server.listen(0, "127.0.0.1");
        await once(server, "listening");
        seen.push("first");
      } else if (isListed && seen.length === 1) {
        seen.push("listed");
        server.close();
      } else if (!isListed && seen.length === 2) {
        break;
      }
    }
    assert.deepEqual(seen, ["first", "listed"]);
  });

  it("reject the wait as soon as the exec ends, with exit code and last output", async () => {
    const port = await freePort();
    // By one pipe: what comes by two has no order.
    const script = "exec 2>&1; sleep 0.2; seq 1 2000; echo 'port in use' >&2; exit 4";
    const { id } = await sandbox.execs.create({ command: "sh", args: ["-c", script] });
    await assert.rejects(sandbox.ports.waitFor(port, { exec: id }), (error) => {
      assert(isSandpipeError(error, "not_ready"));
      assert.deepEqual([error.execId, error.exitCode], [id, 4]);
      assert(error.output.endsWith("port in use\n"));
      assert.match(
        error.message,
        new RegExp(`before port ${port} was listened on; .*: port in use$`),
      );
      return true;
    });
  });

  it("are waited for over a connection that breaks", async () => {
    const relay = new Relay(agent.url);
    const through = await connect({ ...agent, url: await relay.listen() });
    const port = await freePort();
    const found = through.ports.waitFor(port);
    for await (const _first of through.ports.streamList()) break;
    relay.breakAll();
    const server = createServer().listen(port, "127.0.0.1");
    assert.equal((await found).port, port);
    assert(relay.broken > 0);
    server.close();
    await relay.close();
  });

  it("are given up by time and by signal", async () => {
    const port = await freePort();
    const late = sandbox.ports.waitFor(port, { timeoutMs: 100 });
    await assert.rejects(late, {
      code: "timeout",
      message: new RegExp(`port ${port} was waited for`),
    });
    const reason = new Error("enough");
    const signal = AbortSignal.abort(reason);
    await assert.rejects(sandbox.ports.waitFor(port, { signal }), interruptedBy(reason));
    for (const wrong of [0, 65_536, 1.5, "80"]) {
      await assert.rejects(sandbox.ports.waitFor(/** @type {any} */ (wrong)), {
        code: "invalid_argument",
        message: /`port`/,
      });
    }
  });
});
