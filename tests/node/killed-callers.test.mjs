// @ts-check
// Callers with a policy that are killed at any moment: nothing is left of them.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { dist } from "../../scripts/project.mjs";
import { noBubblewrap } from "../support/bubblewrap.mjs";
import {
  atRandomMoments,
  killCaller,
  nodeCaller,
  READY,
  RESULT,
  scriptOf,
  workspaceOf,
} from "../support/killed-at-random.mjs";
import { isMatrix } from "../support/matrix.mjs";

const ROUNDS = isMatrix ? 50 : 20;

describe("callers that are killed at random moments", { skip: noBubblewrap }, () => {
  /** @type {string} */
  let folder;
  /** Where temporary files are made. @type {string} */
  let temporary;
  const usual = process.env["TMPDIR"];

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
    temporary = join(folder, "tmp");
    mkdirSync(temporary);
    process.env["TMPDIR"] = temporary;
  });

  after(() => {
    if (usual === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = usual;
    rmSync(folder, { recursive: true, force: true });
  });

  it("leave no process and no file, and the next exec works", async () => {
    const program = [process.execPath, join(dist, "cli", "sandpipe.js"), "run"];
    let ended = 0;
    await atRandomMoments("a caller with a policy is killed", ROUNDS, async (random, round) => {
      const workspace = workspaceOf(folder, round);
      const cli = [...program, "--policy", "workspace", "--"];
      const caller =
        round % 2 === 0
          ? {
              command: nodeCaller({ policy: "workspace" }),
              workspace,
              says: [READY, RESULT],
            }
          : {
              command: [...cli, "sh", "-c", `echo ready; ${scriptOf(3)}`],
              workspace,
              cwd: workspace,
            };
      if (await killCaller(random, round, caller)) ended += 1;
    });
    assert.ok(ended > 0 && ended < ROUNDS, String(ended));
    assert.deepEqual(readdirSync(temporary), []);
    const agent = await startAgent({ policy: "workspace", workspace: workspaceOf(folder, -1) });
    const { execs } = await connect(agent);
    assert.equal((await execs.exec("sh", ["-c", "exit 5"])).exitCode, 5);
    await agent.stop();
    assert.deepEqual(readdirSync(temporary), []);
  });
});
