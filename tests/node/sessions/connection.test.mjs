// @ts-check
import assert from "node:assert/strict";
import { it } from "node:test";

import {
  connect,
  ExitCodeMissingError,
  HttpError,
  InterruptedError,
  SandpipeError,
  SessionError,
} from "sandpipe";
import { startAgent } from "sandpipe/node";

import { marked, marker, until } from "../../support/processes.mjs";
import { failure, testSessions } from "./place.mjs";

testSessions("the connections of sessions", (place) => {
  it("is a runtime that holds no connection while it is idle", async () => {
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
    const session = await counting.sessions.create({ shell: place.shell });
    assert.equal(open, 0);
    assert.equal((await session.run("echo a")).output, "a\n");
    assert.equal(open, 0);
    await session[Symbol.asyncDispose]();
  });

  it("resumes its output where a connection broke", async () => {
    let cuts = 0;
    const breaking = await connect({
      ...place.agent,
      retry: { baseDelayMs: 1 },
      async fetch(input, init) {
        const response = await fetch(input, init);
        if (!String(input).includes("/stream/") || !response.body) return response;
        // Each connection ends when it has brought something.
        cuts += 1;
        const reader = response.body.getReader();
        const body = new ReadableStream({
          async pull(controller) {
            const { value, done } = await reader.read();
            if (!done) controller.enqueue(value);
            if (done || Buffer.from(value).includes("data:")) controller.close();
          },
          cancel: (reason) => reader.cancel(reason),
        });
        return new Response(body, response);
      },
    });
    const session = await breaking.sessions.create({ shell: place.shell });
    for (let run = 0; run < 5; run += 1) {
      const { output } = await session.run("for i in 1 2 3 4 5; do echo $i; sleep 0.02; done");
      assert.equal(output, "1\n2\n3\n4\n5\n");
    }
    assert.ok(cuts > 5);
    await session.close();
  });

  it("a script that was never sent leaves the session as it is, however long it is", async () => {
    let away = false;
    const missing = await connect({
      ...place.agent,
      async fetch(input, init) {
        if (!away) return fetch(input, init);
        throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
      },
      retry: { baseDelayMs: 1 },
    });
    const session = await missing.sessions.create({ shell: place.shell });
    await session.run("KEPT=yes");
    for (const script of ["KEPT=no", `KEPT=no; : ${"x".repeat(2_000_000)}`]) {
      away = true;
      const error = await failure(session.run(script));
      assert.ok(error instanceof HttpError, String(error));
      assert.deepEqual([error.code, error.operation], ["network", "send stdin"]);
      away = false;
      assert.equal((await session.run("echo $KEPT")).output, "yes\n");
    }
    await session.close();
  });

  it("a script of which only a part was sent ends the session, and nothing of it runs", async () => {
    let arm = false;
    let sent = 0;
    const missing = await connect({
      ...place.agent,
      async fetch(input, init) {
        if (arm && String(input).endsWith("/io")) {
          sent += 1;
          if (sent > 1) throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
        }
        return fetch(input, init);
      },
      retry: { baseDelayMs: 1 },
    });
    const mark = marker();
    const session = await missing.sessions.create({ shell: place.shell, env: mark });
    arm = true;
    const error = await failure(session.run(`echo ran; : ${"x".repeat(2_000_000)}`));
    assert.ok(error instanceof SandpipeError);
    assert.deepEqual([error.code, sent], ["exit_code_missing", 4]);
    assert.deepEqual(marked(mark), [], "its shell was killed");
    assert.ok((await failure(session.run("echo on"))) instanceof SessionError);
    await session.close();
  });

  it("a gateway's page for what it does not know says nothing about the shell", async () => {
    let away = false;
    const cut = new AbortController();
    const behind = await connect({
      ...place.agent,
      fetch(input, init = {}) {
        if (away) {
          const headers = { "content-type": "text/html" };
          return Promise.resolve(new Response("<html>404</html>", { status: 404, headers }));
        }
        if (!String(input).includes("/stream/")) return fetch(input, init);
        const signals = init.signal ? [init.signal, cut.signal] : [cut.signal];
        return fetch(input, { ...init, signal: AbortSignal.any(signals) });
      },
    });
    const mark = marker();
    const session = await behind.sessions.create({ shell: place.shell, env: mark });
    const running = session.run("echo begun; sleep 1000", {
      onOutput() {
        away = true;
        cut.abort();
      },
    });
    const error = await failure(running);
    assert.ok(error instanceof ExitCodeMissingError, String(error));
    assert.equal(error.output, "begun\n");
    const next = await failure(session.run("echo on"));
    assert.ok(next instanceof SessionError);
    assert.doesNotMatch(next.message, /does not know its shell/);
    away = false;
    await session.close();
    assert.deepEqual(marked(mark), []);
  });

  it("says that a script may still run when the agent refuses to stop it", async () => {
    let refused = false;
    const changed = await connect({
      ...place.agent,
      fetch(input, init = {}) {
        const headers = new Headers(init.headers);
        if (refused) headers.set("authorization", "Bearer another");
        return fetch(input, { ...init, headers });
      },
    });
    for (const how of /** @type {const} */ (["signal", "forceSignal"])) {
      const mark = marker();
      const session = await changed.sessions.create({ shell: place.shell, env: mark });
      const stop = new AbortController();
      const running = session.run("echo begun; sleep 1000", {
        [how]: stop.signal,
        onOutput() {
          refused = true;
          stop.abort();
        },
      });
      const error = await failure(running);
      assert.ok(error instanceof InterruptedError, String(error));
      assert.match(error.message, /interrupted; it could not be stopped: .* 401/);
      assert.match(error.message, /It may still run/);
      assert.equal(error.output, "begun\n");
      assert.notDeepEqual(marked(mark), []);
      refused = false;
      await session.close();
      assert.deepEqual(marked(mark), []);
    }
  });

  for (const [what, says] of /** @type {const} */ ([
    ["has forgotten its shell", /the agent does not know its shell any more: .* 404/],
    ["has another token", /the agent does not give access to its shell: .* 401/],
  ])) {
    it(`is over when the agent ${what}, and says what became of the script`, async () => {
      const other = await startAgent();
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
        const session = await moving.sessions.create({ shell: place.shell, env: mark });
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
      await other.stop();
    });
  }

  it("leaves no exec of its own behind when it is closed", async () => {
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
    const session = await watching.sessions.create({ shell: place.shell });
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
