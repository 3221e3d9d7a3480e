// @ts-check
// An agent of one's own whose commands are to be killed at once: sooner than it would do so by itself, 10 s after SIGTERM.
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

describe("startAgent", () => {
  for (const when of ["before", "while"]) {
    it(`kills its commands at once where it is told so ${when} it stops`, async () => {
      const folder = await mkdtemp(join(tmpdir(), "sandpipe-test-"));
      const agent = await startAgent({ workspace: folder });
      const { execs } = await connect(agent);
      // Far longer than it takes to kill it, and less than the agent would wait.
      const script =
        "trap 'echo asked; sleep 8; touch tidied; exit' TERM; echo ready; while :; do sleep 0.05; done";
      const { id } = await execs.create({ command: "sh", args: ["-c", script] });
      const output = execs.streamOutput(id)[Symbol.asyncIterator]();
      await output.next();
      const force = new AbortController();
      if (when === "before") force.abort();
      const stopped = agent.stop({ forceSignal: force.signal });
      if (when === "while") {
        await output.next();
        force.abort();
      }
      await stopped;
      assert.deepEqual(await readdir(folder), []);
      await rm(folder, { recursive: true });
    });
  }
});
