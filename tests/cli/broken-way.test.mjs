// @ts-check
// `sandpipe run` where something on the way to the agent is broken.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request as forward } from "node:http";
import { after, describe, it } from "node:test";
import { connect } from "sandpipe";
import { startTestAgent } from "../support/agent.mjs";
import { installSandpipe } from "../support/installed-cli.mjs";
import { until } from "../support/processes.mjs";

const sandpipe = await installSandpipe();
const agent = await startTestAgent();
after(async () => {
  await agent.stop();
  await sandpipe.remove();
});

/**
 * Starts `sandpipe run` with an agent behind a gateway.
 *
 * @param {string[]} args
 * @param {import("node:http").RequestListener} breaks May answer a request itself, or leave it unanswered;
 *   where it does not return true, the agent gets it.
 */
async function runThrough(args, breaks) {
  const gateway = createServer((incoming, outgoing) => {
    if (/** @type {unknown} */ (breaks(incoming, outgoing)) === true) return;
    const { method, headers } = incoming;
    const outward = forward(agent.url + incoming.url, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(outgoing);
    });
    outward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => outward.destroy());
    incoming.pipe(outward);
  });
  await once(gateway.listen(0, "127.0.0.1"), "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (gateway.address());
  const url = `http://127.0.0.1:${port}`;
  const env = { SANDPIPE_TOKEN: agent.token };
  const options = { env, stopsClock: true };
  const invocation = await sandpipe.start(["run", "--url", url, ...args], options);
  return {
    invocation,
    async end() {
      const end = await invocation.end;
      gateway.closeAllConnections();
      gateway.close();
      return end;
    },
  };
}

/** Kills what is left, so that the next test finds nothing. */
async function killAll() {
  const { execs } = await connect(agent);
  for (const { id } of await execs.list()) {
    await execs.terminate(id, { graceMs: 0 }).catch(() => undefined);
    await execs.delete(id);
  }
}

describe("sandpipe run, on a broken way", { concurrency: true }, () => {
  it("ends after the second signal where nothing is answered any more", async () => {
    let isSilent = false;
    const signals = [];
    const { invocation, end } = await runThrough(
      ["--", "sh", "-c", "echo ready; exec sleep 1000"],
      ({ url }) => {
        if (isSilent && url?.endsWith("/signal")) signals.push(url);
        return isSilent;
      },
    );
    await invocation.says("ready\n");
    isSilent = true;
    invocation.child.kill("SIGINT");
    await until(() => signals.length > 0);
    invocation.child.kill("SIGINT");
    await invocation.timePasses();
    const { exitCode, stderr } = await end();
    assert.equal(exitCode, 125);
    assert.match(stderr, /\nsandpipe: .*SIGKILL was not confirmed within 10 s.*\n$/);
  });

  it("says that the command may still run where a gateway answers to the signal", async () => {
    const { invocation, end } = await runThrough(
      ["--", "sh", "-c", "echo ready; exec sleep 1000"],
      ({ url }, response) => {
        if (!url?.endsWith("/signal")) return false;
        response.writeHead(409).end();
        return true;
      },
    );
    await invocation.says("ready\n");
    invocation.child.kill("SIGINT");
    await invocation.timePasses();
    const { exitCode, stderr } = await end();
    assert.equal(exitCode, 125);
    assert.match(stderr, /\nsandpipe: the command may still run: signal exec: .* 409\n$/);
  });

  it("ends after the second signal where the end of the output does not come", async () => {
    let signals = 0;
    const { invocation, end } = await runThrough(
      ["--", "sh", "-c", "echo ready; exec sleep 1000"],
      ({ url }, response) => {
        if (!url?.endsWith("/signal")) return false;
        signals++;
        // The agent's own answer, which a gateway's is not taken for.
        const body = { code: 409, message: "the process group is gone" };
        response.writeHead(409, { "content-type": "application/json" }).end(JSON.stringify(body));
        return true;
      },
    );
    await invocation.says("ready\n");
    invocation.child.kill("SIGINT");
    await until(() => signals > 0);
    invocation.child.kill("SIGINT");
    await invocation.timePasses();
    const { exitCode, stderr } = await end();
    assert.equal(exitCode, 125);
    assert.match(stderr, /\nsandpipe: the kill was not confirmed: the command may still run\.\n$/);
  });

  it("does not take the 400 of a gateway for a command that reads no more", async () => {
    const { invocation, end } = await runThrough(
      ["-i", "--", "sh", "-c", "echo ready; exec cat"],
      ({ url }, response) => {
        if (!url?.endsWith("/io")) return false;
        response.writeHead(400).end("<html>");
        return true;
      },
    );
    await invocation.says("ready\n");
    invocation.stdin.end("input");
    const { exitCode, stdout, stderr } = await end();
    assert.deepEqual([exitCode, stdout], [125, "ready\n"]);
    assert.match(stderr, /^sandpipe: .*400.*\n$/);
  });

  after(killAll);
});
