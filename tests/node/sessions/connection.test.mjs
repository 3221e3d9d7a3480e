// @ts-check
import assert from "node:assert/strict";

import { connect, SessionError } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { marked, marker, until } from "../../support/processes.mjs";
import { failure } from "../../support/script.mjs";
import { createSession, testSessions } from "./place.mjs";

testSessions("the connections of sessions", (place, { runtimeContract }) => {
  runtimeContract("is a runtime that holds no connection while it is idle", async () => {
    let open = 0;
    const counting = await connect({
      ...place.agent,
      async fetch(input, init) {
        const response = await fetch(input, init);
        if (!String(input).includes("/stream/")) return response;
        open += 1;
        init?.signal?.addEventListener("abort", () => (open -= 1), { once: true });
        return response;
      },
    });
    /** @type {import("sandpipe").Runtime & AsyncDisposable} */
    const session = await createSession(counting, { shell: place.shell });
    assert.equal(open, 0);
    assert.equal((await session.run("echo a")).output, "a\n");
    assert.equal(open, 0);
    await session[Symbol.asyncDispose]();
  });

  for (const [what, says] of /** @type {const} */ ([
    ["has forgotten its shell", /the agent does not know its shell any more: .* 404/],
    ["has another token", /the agent does not give access to its shell: .* 401/],
  ])) {
    runtimeContract(
      `is over when the agent ${what}, and says what became of the script`,
      async (t) => {
        const other = await startAgent();
        t.after(() => other.stop());
        let moved = false;
        let cut = new AbortController();
        const moving = await connect({
          ...place.agent,
          retry: { baseDelayMs: 1 },
          fetch(input, init = {}) {
            if (!moved && String(input).includes("/stream/")) {
              const signals = init.signal ? [init.signal, cut.signal] : [cut.signal];
              return fetch(input, { ...init, signal: AbortSignal.any(signals) });
            }
            if (!moved) return fetch(input, init);
            const headers = new Headers(init.headers);
            if (says.source.includes("404")) headers.set("authorization", `Bearer ${other.token}`);
            return fetch(String(input).replace(place.agent.url, other.url), { ...init, headers });
          },
        });
        for (const [script, ran] of /** @type {const} */ ([
          ["echo begun; sleep 1000", /the script had begun, and may still run\./],
          ["echo on", /the script did not run\./],
        ])) {
          const [idle, mark] = [script === "echo on", marker()];
          const session = await createSession(moving, { shell: place.shell, env: mark });
          const move = () => {
            moved = true;
            cut.abort();
            cut = new AbortController();
          };
          if (idle) move();
          const error = await failure(session.run(script, { onOutput: move }));
          assert.ok(error instanceof SessionError, String(error));
          assert.match(error.message, /^this session is over: /);
          assert.match(error.message, says);
          assert.match(error.message, ran);
          assert.equal(error.output, idle ? "" : "begun\n");
          const next = await failure(session.run("echo on"));
          assert.ok(next instanceof SessionError);
          assert.match(next.message, says);
          assert.doesNotMatch(next.message, /the script/);
          moved = false;
          await session.close();
          assert.deepEqual(marked(mark), []);
        }
      },
    );
  }

  runtimeContract("leaves no exec of its own behind when it is closed", async () => {
    /** @type {Promise<void> | undefined} */
    let closing;
    const watching = await connect({
      ...place.agent,
      async fetch(input, init) {
        const response = await fetch(input, init);
        if (String(init?.body).includes("kill -KILL")) closing ??= session.close();
        return response;
      },
    });
    const before = await place.sandbox.execs.list();
    const session = await createSession(watching, { shell: place.shell });
    const force = new AbortController();
    const running = session.run("echo begun; sleep 1000", {
      forceSignal: force.signal,
      onOutput: () => force.abort(),
    });
    assert.ok((await failure(running)) instanceof SessionError);
    await closing;
    await until(async () => (await place.sandbox.execs.list()).length === before.length);
  });
});
