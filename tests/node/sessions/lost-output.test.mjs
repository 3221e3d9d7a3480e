// @ts-check
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { until } from "../../support/processes.mjs";
import { failure } from "../../support/script.mjs";
import { createSession } from "./place.mjs";

describe("a session's run that is stopped because nobody wants its output any more", () => {
  for (const [name, args] of /** @type {const} */ ([
    ["with its extensions", []],
    ["without any", ["--without", "all"]],
  ])) {
    it(`leaves a session that goes on, though an agent ${name} loses some of that output`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
      t.after(() => rmSync(folder, { recursive: true }));
      const [unwanted, written] = [join(folder, "unwanted"), join(folder, "written")];
      const agent = await startAgent({ args: ["--spool-limit", "64KiB", ...args] });
      t.after(() => agent.stop());
      let streams = 0;
      let isCut = false;
      const sandbox = await connect({
        ...agent,
        retry: { baseDelayMs: 1 },
        async fetch(input, init) {
          if (!String(input).includes("/stream/")) return fetch(input, init);
          streams += 1;
          // The client is cut off once the script writes, until it has written all.
          if (existsSync(unwanted)) await until(() => existsSync(written));
          const response = await fetch(input, init);
          const cut = new TransformStream({
            transform(bytes, controller) {
              if (isCut || !existsSync(unwanted)) return controller.enqueue(bytes);
              isCut = true;
              controller.error(new Error("the connection is cut"));
            },
          });
          return new Response(response.body?.pipeThrough(cut), response);
        },
      });
      t.after(() => sandbox.close());
      const session = await createSession(sandbox, {});
      // It is more than the agent keeps.
      const script = `(trap '' INT; echo a; until [ -e '${unwanted}' ]; do sleep 0.01; done
        head -c 1000000 /dev/zero | tr '\\0' x; : >'${written}')`;
      const thrown = new Error("mine");
      let before = 0;
      const running = session.run(script, {
        graceMs: 600_000,
        onOutput() {
          before = streams;
          writeFileSync(unwanted, "");
          throw thrown;
        },
      });
      assert.equal(await failure(running), thrown);
      assert.ok(streams > before, "output was lost, and the client has read on behind it");
      assert.deepEqual(await session.run("echo on"), { exitCode: 0, output: "on\n" });
    });
  }
});
