// Stops that do not get to the agent, or whose answers do not get back: what is left is said, and how to
// stop it. Each case is run against an agent with its extensions and against a plain one.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { connect, InterruptedError } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { until } from "../support/processes.mjs";

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
  });
}
