// @ts-check
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { failure } from "../../support/script.mjs";

describe("a session's run that is stopped because nobody wants its output any more", () => {
  for (const [name, args] of /** @type {const} */ ([
    ["with its extensions", []],
    ["without any", ["--without", "all"]],
  ])) {
    it(`leaves a session that goes on, though an agent ${name} loses some of that output`, async () => {
      const folder = await mkdtemp(join(tmpdir(), "sandpipe-test-"));
      const agent = await startAgent({ args: ["--spool-limit", "64KiB", ...args] });
      const sandbox = await connect(agent);
      try {
        const session = await sandbox.sessions.create();
        const unwanted = join(folder, "unwanted");
        // It does not end before it has written more than the agent keeps.
        const script = `(trap '' INT; echo a; until [ -e ${unwanted} ]; do sleep 0.01; done
          head -c 100000000 /dev/zero | tr '\\0' x)`;
        const thrown = new Error("mine");
        const running = session.run(script, {
          onOutput() {
            writeFileSync(unwanted, "");
            throw thrown;
          },
        });
        assert.equal(await failure(running), thrown);
        assert.deepEqual(await session.run("echo on"), { exitCode: 0, output: "on\n" });
      } finally {
        sandbox.close();
        await agent.stop();
        await rm(folder, { recursive: true });
      }
    });
  }
});
