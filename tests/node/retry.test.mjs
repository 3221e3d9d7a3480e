// Trying again: what is repeated, how often, and who has a say. The trouble is made by a fetch that
// loses requests or answers of a real agent.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";

import { connect, CreateUnknownError, ExitCodeMissingError, HttpError } from "sandpipe";
import { startAgent } from "sandpipe/node";

/** @typedef {import("sandpipe").RetryContext} RetryContext */
/** @typedef {(path: string, send: () => Promise<Response>) => Promise<Response>} Trouble */

const lost = () => new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
const refused = () => new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });

/** @param {number} status @param {Record<string, string>} [headers] */
const answer = (status, headers = {}) => new Response("<h1>Trouble</h1>", { status, headers });

for (const [kind, args] of /** @type {const} */ ([
  ["an agent with its extensions", []],
  ["a plain agent", ["--without", "all"]],
])) {
  describe(`retrying, with ${kind}`, () => {
    const plain = args.length > 0;
    /** @type {Awaited<ReturnType<typeof startAgent>>} */
    let agent;
    /** How often each kind of request has been made. */
    let requests = /** @type {Record<string, number>} */ ({});
    before(async () => {
      agent = await startAgent({ args });
    });
    beforeEach(() => {
      requests = {};
    });
    after(() => agent.stop());

    /**
     * @param {Trouble} trouble
     * @param {import("sandpipe").RetryOptions} [retry]
     */
    const troubled = (trouble, retry) =>
      connect({
        ...agent,
        retry: { baseDelayMs: 1, ...retry },
        fetch: (input, init) => {
          const method = init?.method ?? "GET";
          const path = `${method} ${new URL(String(input)).pathname.replace(/[0-9a-f]{32}/, "ID")}`;
          requests[path] = (requests[path] ?? 0) + 1;
          return trouble(path, () => fetch(input, init));
        },
      });

    /** Trouble the first time that a request of this kind is made. @param {string} kind @param {Trouble} trouble @returns {Trouble} */
    const first = (kind, trouble) => (path, send) =>
      path === kind && requests[path] === 1 ? trouble(path, send) : send();

    it("runs a command once when the answer to its create is lost", async () => {
      const sandbox = await troubled(
        first("POST /api/v1/execs", async (_, send) => {
          await send();
          throw lost();
        }),
      );
      const { execs } = await connect(agent);
      const before = (await execs.list()).length;
      const running = sandbox.execs.exec("echo", ["once"]);
      if (plain) {
        await assert.rejects(running, (error) => {
          assert.ok(error instanceof CreateUnknownError);
          assert.equal(error.command, "echo");
          assert.match(error.message, /execs\.list\(\)/);
          assert.ok(error.cause instanceof HttpError);
          assert.equal(error.cause.mayHaveRun, undefined);
          return true;
        });
        assert.equal(requests["POST /api/v1/execs"], 1);
      } else {
        assert.deepEqual({ ...(await running) }, { exitCode: 0, output: "once\n" });
        assert.equal(requests["POST /api/v1/execs"], 2);
      }
      assert.equal((await execs.list()).length, before + 1);
    });

    it("repeats a create that can't have arrived", async () => {
      const sandbox = await troubled(
        first("POST /api/v1/execs", async () => {
          throw refused();
        }),
      );
      assert.equal((await sandbox.execs.exec("true")).exitCode, 0);
      assert.equal(requests["POST /api/v1/execs"], 2);
    });

    it("says of a create that has created nothing that nothing was run", async () => {
      for (const trouble of [async () => answer(401), async () => Promise.reject(refused())]) {
        requests = {};
        const { execs } = await troubled(first("POST /api/v1/execs", trouble), { maxAttempts: 1 });
        await assert.rejects(execs.exec("true"), { operation: "create exec", mayHaveRun: false });
      }
    });

    it("repeats what may be repeated, as often as it is told", async () => {
      for (const trouble of [lost, refused]) {
        requests = {};
        const { execs } = await troubled(async () => {
          throw trouble();
        });
        await assert.rejects(
          execs.list(),
          (error) => error instanceof HttpError && error.status === 0,
        );
        assert.equal(requests["GET /api/v1/execs"], 3);
      }
      for (const status of [408, 429, 500, 502, 503, 504]) {
        requests = {};
        const { execs } = await troubled(first("GET /api/v1/execs", async () => answer(status)));
        assert.ok(Array.isArray(await execs.list()));
        assert.equal(requests["GET /api/v1/execs"], 2);
      }
      for (const status of [400, 401, 403, 404, 409, 501]) {
        requests = {};
        const { execs } = await troubled(async () => answer(status));
        await assert.rejects(
          execs.list(),
          (error) => error instanceof HttpError && error.status === status,
        );
        assert.equal(requests["GET /api/v1/execs"], 1);
      }
    });

    it("asks shouldRetry and tells onRetry, with the failure and the pause", async () => {
      /** @type {RetryContext[]} */
      const asked = [];
      /** @type {RetryContext[]} */
      const told = [];
      const { execs } = await troubled(async () => answer(503), {
        maxAttempts: 3,
        shouldRetry: async (context) => asked.push(context) && 2,
        onRetry: (context) => void told.push(context),
      });
      await assert.rejects(execs.list(), HttpError);
      assert.deepEqual(
        told.map(({ operation, attempt, status, delay, willRetry }) => ({
          operation,
          attempt,
          status,
          delay,
          willRetry,
        })),
        [1, 2].map((attempt) => ({
          operation: "list execs",
          attempt,
          status: 503,
          delay: 2,
          willRetry: true,
        })),
      );
      assert.equal(asked.length, 2);
      assert.ok(asked[0]?.error instanceof HttpError);
      const { execs: stubborn } = await troubled(async () => answer(503), {
        maxAttempts: 2,
        shouldRetry({ attempt }) {
          return attempt > Number(this.maxAttempts);
        },
      });
      requests = {};
      await assert.rejects(stubborn.list(), HttpError);
      assert.equal(requests["GET /api/v1/execs"], 1);
    });

    it("tells shouldRetry what happens without it", async () => {
      const afterSeconds = (/** @type {number} */ seconds) => ({ "retry-after": `${seconds}` });
      for (const [answered, willRetry] of /** @type {const} */ ([
        [answer(503), true],
        [answer(404), false],
        [answer(503, afterSeconds(1)), true],
        [answer(503, afterSeconds(3600)), false],
      ])) {
        /** @type {boolean[]} */
        const seen = [];
        const { execs } = await troubled(async () => answered.clone(), {
          shouldRetry: (context) => seen.push(context.willRetry) < 0,
        });
        await assert.rejects(execs.list(), HttpError);
        assert.deepEqual(seen, [willRetry]);
      }
    });

    it("fails at once where Retry-After is longer than maxDelayMs, and says so", async () => {
      for (const [after, seconds] of [
        ["4294967295", "4294967295"],
        ["99999999999999999999", "4294967295"],
        ["31", "31"],
      ]) {
        requests = {};
        const busy = async () => answer(503, { "retry-after": after ?? "" });
        for (const shouldRetry of [undefined, () => true]) {
          const { execs } = await troubled(busy, { ...(shouldRetry && { shouldRetry }) });
          await assert.rejects(execs.list(), (error) => {
            assert.ok(error instanceof HttpError && error.status === 503, String(error));
            assert.ok(error.message.includes(`${seconds} s (Retry-After)`), error.message);
            assert.match(error.message, /, and 30 s are allowed\. .*maxDelayMs/);
            return true;
          });
        }
        assert.equal(requests["GET /api/v1/execs"], 2);
      }
      const { execs } = await troubled(async (path, send) =>
        path.includes("/stream/") ? answer(429, { "retry-after": "3600" }) : send(),
      );
      await assert.rejects(execs.streamList().next(), /3600 s \(Retry-After\)/);
      const { id } = await execs.create({ command: "true", args: [] });
      await assert.rejects(execs.wait(id), (error) => {
        assert.ok(error instanceof ExitCodeMissingError, String(error));
        assert.match(error.message, /3600 s \(Retry-After\)/);
        assert.ok(error.cause instanceof HttpError && error.cause.status === 429);
        return true;
      });
    });

    it("asks the caller's shouldRetry whatever the pause that the server asks for", async () => {
      const forbidden = async () => answer(403, { "retry-after": "3600" });
      const { execs } = await troubled(forbidden);
      await assert.rejects(execs.list(), (error) => {
        assert.ok(error instanceof HttpError && error.status === 403, String(error));
        assert.doesNotMatch(error.message, /Retry-After/);
        return true;
      });
      const busy = first("GET /api/v1/execs", async () => answer(503, { "retry-after": "3600" }));
      const own = await troubled(busy, { shouldRetry: () => 1 });
      assert.ok(Array.isArray(await own.execs.list()));
    });
  });
}
