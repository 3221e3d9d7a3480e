// Stops that do not get to the agent, or whose answers do not get back: what is left is said, and how to
// stop it. Each case is run against an agent with its extensions and against a plain one.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { connect, InterruptedError } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { marked, marker, until } from "../support/processes.mjs";

const IGNORES_TERM = "trap '' TERM; echo ready; while :; do sleep 0.05; done";

for (const [kind, args] of /** @type {const} */ ([
  ["an agent with its extensions", []],
  ["a plain agent", ["--without", "all"]],
])) {
  describe(`stops that are not delivered, with ${kind}`, () => {
    /** @type {Awaited<ReturnType<typeof startAgent>>} */
    let agent;
    /** @type {import("sandpipe").Execs} */
    let execs;

    before(async () => {
      agent = await startAgent({ args });
      ({ execs } = await connect(agent));
    });
    after(() => agent.stop());

    it("says that a command may still run when the stop can't be delivered", async () => {
      const broken = await connect({
        ...agent,
        retry: { baseDelayMs: 1 },
        // The agent is there for all but a stop, by either way.
        fetch: async (input, init) => {
          const isStop =
            String(input).endsWith("/signal") || String(init?.body).includes('kill \\"-');
          if (isStop) throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
          return fetch(input, init);
        },
      });
      const stop = new AbortController();
      const running = broken.execs.exec("sleep", ["1000"], { signal: stop.signal, graceMs: 50 });
      await until(async () => (await execs.list())[0]?.command === "sleep");
      stop.abort();
      await assert.rejects(running, (error) => {
        assert.ok(error instanceof InterruptedError);
        assert.match(
          error.message,
          /could not be stopped: .*It may still run: stop it with execs\.terminate/,
        );
        assert.ok(error.message.includes(error.execId ?? "no id"));
        return true;
      });
      const [left] = await execs.list();
      assert.equal((await execs.terminate(left?.id ?? "")).exitCode, 143);
    });

    it("kills although a gateway answers for the agent the first times", async () => {
      let refusals = 2;
      const behindGateway = await connect({
        ...agent,
        retry: { baseDelayMs: 1 },
        fetch: async (input, init) => {
          const body = String(init?.body);
          const isKill = body.includes('"SIGKILL"') || body.includes('"sh","KILL"');
          if (!isKill || refusals-- <= 0) return fetch(input, init);
          return new Response("no upstream", { status: 503 });
        },
      });
      const mark = marker();
      const stop = new AbortController();
      const running = behindGateway.execs.exec("sh", ["-c", IGNORES_TERM], {
        env: mark,
        signal: stop.signal,
        graceMs: 50,
        onOutput: () => stop.abort(),
      });
      await assert.rejects(running, (error) => {
        assert.ok(error instanceof InterruptedError);
        assert.equal(error.message, `exec ${error.execId}: interrupted`);
        assert.equal(error.forced, true);
        return true;
      });
      assert.equal(refusals, -1, "the third attempt was the one that arrived");
      assert.deepEqual(marked(mark), []);
    });

    /**
     * Runs what only SIGKILL stops, and has it killed.
     * @param {typeof globalThis.fetch} fetch
     */
    const killed = async (fetch) => {
      const { execs } = await connect({ ...agent, fetch });
      const mark = marker();
      const force = new AbortController();
      const running = execs.exec("sh", ["-c", IGNORES_TERM], {
        env: mark,
        forceSignal: force.signal,
        onOutput: () => force.abort(),
      });
      const error = await running.then(
        () => undefined,
        (/** @type {unknown} */ error) => error,
      );
      assert.ok(error instanceof InterruptedError, String(error));
      return { error, mark };
    };

    const plain = args.length > 0;
    const unasked = plain
      ? "says so where it can't learn what to kill"
      : "kills without asking first";
    it(unasked, async () => {
      let asked = 0;
      const { error, mark } = await killed(async (input, init) => {
        const isQuestion = init?.method === "GET" && /\/execs\/[^/]+$/.test(String(input));
        if (!isQuestion) return fetch(input, init);
        asked++;
        return new Promise(() => undefined);
      });
      if (!plain) {
        assert.equal(error.message, `exec ${error.execId}: interrupted`);
        return assert.deepEqual(marked(mark), []);
      }
      // `kill` has to know the group's number.
      assert.match(error.message, /SIGKILL was not confirmed within 10 s/);
      assert.ok(asked > 0);
      await execs.terminate(error.execId ?? "", { graceMs: 0 });
    });

    describe("where SIGKILL is not answered", { concurrency: true }, () => {
      /** @param {(kill: () => Promise<Response>) => Promise<Response>} trouble */
      const forced = (trouble) =>
        killed((input, init) => {
          const body = String(init?.body);
          const isKill = body.includes('"SIGKILL"') || body.includes('"sh","KILL"');
          return isKill ? trouble(() => fetch(input, init)) : fetch(input, init);
        });
      const never = () => new Promise(() => undefined);

      it("sees that it has arrived", async () => {
        const { error, mark } = await forced(async (kill) => {
          await kill();
          return /** @type {any} */ (never());
        });
        assert.equal(error.message, `exec ${error.execId}: interrupted`);
        assert.equal(error.forced, true);
        assert.deepEqual(marked(mark), []);
      });

      for (const [what, answer, message] of /** @type {const} */ ([
        ["that there is no answer", never, /SIGKILL was not confirmed within 10 s/],
        [
          "what the answer is",
          async () => new Response("", { status: 503, headers: { "retry-after": "60" } }),
          /the agent answered 503/,
        ],
      ])) {
        it(`says ${what} where it has not`, async () => {
          const { error, mark } = await forced(/** @type {any} */ (answer));
          assert.match(error.message, /could not be stopped: .* may still run: stop it with/);
          assert.match(error.message, message);
          const ended = await execs.terminate(error.execId ?? "", { graceMs: 0 });
          assert.equal(ended.exitCode, 137);
          assert.deepEqual(marked(mark), []);
        });
      }
    });
  });
}
