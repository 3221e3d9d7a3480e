// What the agent takes, as it is published, while it has nothing to do.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { releaseAgent } from "../../scripts/project.mjs";
import { idsOfAgent } from "../support/processes.mjs";

/** What agent and box may have resident together, each page counted in both: 10 MB. */
const LIMIT = 10 * 1024;

it("an agent that has run a command takes at most 10 MB with its box", async () => {
  process.env["SANDPIPE_AGENT"] = releaseAgent;
  const agent = await startAgent();
  try {
    const { execs } = await connect(agent);
    const ids = await idsOfAgent((script) => execs.exec("sh", ["-c", script]));
    const [box, own] = [residentOf(ids.box), residentOf(ids.agent)];
    assert.ok(box + own <= LIMIT, `${own} kB of the agent, ${box} kB of its box`);
  } finally {
    await agent.stop();
  }
});

/** In kB (proc_pid_status(5)). @param {string} pid */
function residentOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
}
