// exec() over an agent that answers a create with the stream of the output, and over one that does not.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { connect, InterruptedError } from "sandpipe";
import { startAgent } from "sandpipe/node";

/** @type {[title: string, args: string[], requests: string[]][]} */
const AGENTS = [
  ["with the output in the answer", [], ["POST /api/v1/execs"]],
  [
    "with a stream by itself",
    ["--without", "create-stream"],
    ["POST /api/v1/execs", "GET /api/v1/stream/execs/ID/io?lastSequence=0"],
  ],
  [
    "with no key for the create",
    ["--without", "idempotency-key"],
    ["POST /api/v1/execs", "GET /api/v1/stream/execs/ID/io?lastSequence=0"],
  ],
];

for (const [title, args, expected] of AGENTS) {
  describe(`exec ${title}`, () => {
    /** @type {Awaited<ReturnType<typeof startAgent>>} */
    let agent;
    before(async () => {
      agent = await startAgent({ args });
    });
    after(() => agent.stop());

    it("takes no request that it could do without", async () => {
      /** @type {string[]} */
      const requests = [];
      const { execs } = await connect({
        ...agent,
        fetch: (url, init) => {
          const path = String(url).slice(agent.url.length);
          requests.push(`${init?.method} ${path.replace(/[0-9a-f]{32}/, "ID")}`);
          return fetch(url, init);
        },
      });
      const script = "echo one; sleep 0.05; echo two >&2; exit 7";
      for (const asked of [["GET /health"], []]) {
        const result = await execs.exec("sh", ["-c", script]);
        assert.deepEqual({ ...result }, { exitCode: 7, output: "one\ntwo\n" });
        assert.deepEqual(requests.splice(0), [...asked, ...expected]);
      }
    });

    it("hands over output while the command runs", async () => {
      const { execs } = await connect(agent);
      /** @type {Promise<void> | undefined} */
      let stopped;
      const result = await execs.exec("sh", ["-c", "echo ready; exec sleep 1000"], {
        onOutput: ({ output }) => {
          if (output === "ready\n") {
            stopped = execs.list().then(([exec]) => execs.kill(exec?.id ?? "", "SIGINT"));
          }
        },
      });
      await stopped;
      assert.deepEqual({ ...result }, { exitCode: 130, output: "ready\n" });
    });
  });
}

describe("exec whose output comes with the answer to its create", () => {
  it("brings all of the input to the command although onOutput throws at once", async () => {
    const agent = await startAgent();
    try {
      const { execs } = await connect({ ...agent, fetch: withFirstOutput });
      const onOutput = () => {
        throw new Error("the caller's own");
      };
      const script = "echo first; wc -c";
      const input = "x".repeat(3_000_000);
      await assert.rejects(execs.exec("sh", ["-c", script], { input, onOutput }), /caller's own/);
      const [exec] = await execs.list();
      const { exitCode, output } = await execs.wait(exec?.id ?? "");
      assert.deepEqual([exitCode, output.trim()], [0, "first\n3000000"]);
    } finally {
      await agent.stop();
    }
  });
});

/**
 * Holds the answer to a create back until output has come, and gives both in one piece.
 *
 * @param {string | URL | Request} url
 * @param {RequestInit} [init]
 */
async function withFirstOutput(url, init) {
  const response = await fetch(url, init);
  const reader = response.body?.getReader();
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  if (init?.method !== "POST" || !isStream || reader === undefined) {
    reader?.releaseLock();
    return response;
  }
  let head = "";
  while (!head.includes("first")) head += new TextDecoder().decode((await reader.read()).value);
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode(head)),
    pull: async (controller) => {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, response);
}

describe("exec whose create is answered in another way than it asked", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  before(async () => {
    agent = await startAgent();
  });
  after(() => agent.stop());

  /** @param {(send: (headers?: Headers) => Promise<Response>) => Promise<Response>} answer to a create */
  const connected = (answer) =>
    connect({
      ...agent,
      fetch: (url, init) =>
        init?.method === "POST" && String(url).endsWith("/execs")
          ? answer((headers) => fetch(url, { ...init, ...(headers && { headers }) }))
          : fetch(url, init),
    });

  it("takes the exec alone", async () => {
    const { execs } = await connected((send) =>
      send(
        new Headers({ authorization: `Bearer ${agent.token}`, "content-type": "application/json" }),
      ),
    );
    const result = await execs.exec("sh", ["-c", "echo hi; exit 3"]);
    assert.deepEqual({ ...result }, { exitCode: 3, output: "hi\n" });
  });

  it("stops a command although its output is held back until it is whole", async () => {
    const stop = new AbortController();
    const { execs } = await connected(async (send) => {
      const answer = await send();
      stop.abort();
      return new Response(await answer.arrayBuffer(), answer);
    });
    await assert.rejects(execs.exec("sleep", ["1000"], { signal: stop.signal }), (error) => {
      assert.ok(error instanceof InterruptedError);
      assert.equal(error.exitCode, 130);
      return true;
    });
    const [exec] = await execs.list();
    assert.deepEqual([exec?.args, exec?.exitCode], [["1000"], 143]);
  });
});
