// @ts-check
// Containers that are killed at any moment: nothing is left, and no result is invented.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { atRandomMoments, EXECS, runAll, workspaceOf } from "../support/killed-at-random.mjs";
import { isMatrix } from "../support/matrix.mjs";
import { IMAGE, noSmallImage } from "../support/podman.mjs";
import { nextExecWorks } from "./next-exec.mjs";
import { withPodman } from "./with-podman.mjs";

const ROUNDS = isMatrix ? 50 : 12;

describe("containers that are killed at random moments", { skip: noSmallImage }, () => {
  const place = withPodman();

  it("leave nothing, and the next exec works", async () => {
    let known = 0;
    await atRandomMoments("a container is killed", ROUNDS, async (random, round) => {
      const workspace = workspaceOf(place.folder, round);
      const connection = round % 2 === 0 ? "socket" : "stdio";
      const agent = await startAgent({ image: IMAGE, network: "none", connection, workspace });
      const sandbox = await connect(agent);
      // Its id, unless the network is this machine's.
      const id = (await sandbox.execs.exec("hostname")).output.trim();
      const kill = pause(random.between(0, 400)).then(() => place.podman.podman("kill", id));
      const [, count] = await Promise.all([kill, runAll(sandbox.execs, workspace)]);
      known += count;
      sandbox.close();
      await agent.stop();
    });
    // Some were killed before their execs had ended, and some execs had ended before.
    assert.ok(known > 0 && known < ROUNDS * EXECS, String(known));
    await nextExecWorks(place);
  });
});
