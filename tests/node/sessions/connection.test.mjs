// @ts-check
import assert from "node:assert/strict";
import { it } from "node:test";

import { connect, SandpipeError, SessionError } from "sandpipe";

import { marked, marker } from "../../processes.mjs";
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

  it("a script that may have arrived is never sent again: the session is over", async () => {
    let arm = false;
    let sent = 0;
    const losing = await connect({
      ...place.agent,
      async fetch(input, init) {
        const response = await fetch(input, init);
        if (!arm || !String(init?.body).includes("touch")) return response;
        sent += 1;
        throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
      },
    });
    const mark = marker();
    const session = await losing.sessions.create({ shell: place.shell, env: mark });
    arm = true;
    const error = await failure(session.run("touch /dev/null; sleep 1000"));
    assert.ok(error instanceof SandpipeError);
    assert.equal(error.code, "exit_code_missing");
    assert.match(error.message, /its input could not be delivered/);
    assert.equal(sent, 1);
    assert.deepEqual(marked(mark), [], "its shell was killed");
    assert.ok((await failure(session.run("echo on"))) instanceof SessionError);
    await session.close();
  });
});
