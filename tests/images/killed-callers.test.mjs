// @ts-check
// Callers of an agent in a container that are killed at any moment: nothing is left, and no result is invented.
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { dist } from "../../scripts/project.mjs";
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
import { IMAGE, noSmallImage } from "../support/podman.mjs";
import { until } from "../support/processes.mjs";
import { nextExecWorks } from "./next-exec.mjs";
import { withPodman } from "./with-podman.mjs";

const ROUNDS = isMatrix ? 50 : 20;

describe("callers with an image that are killed at random moments", { skip: noSmallImage }, () => {
  const place = withPodman();

  it("leave nothing, and the next exec works", async () => {
    const program = [process.execPath, join(dist, "cli", "sandpipe.js"), "run"];
    let ended = 0;
    await atRandomMoments("a caller with an image is killed", ROUNDS, async (random, round) => {
      const workspace = workspaceOf(place.folder, round);
      const connection = round % 4 < 2 ? "socket" : "stdio";
      const options = ["--network", "none", "--connection", connection, "--workspace", workspace];
      const cli = [...program, "--image", IMAGE, ...options];
      const caller =
        round % 2 === 0
          ? {
              command: nodeCaller({ image: IMAGE, network: "none", connection }),
              says: [READY, RESULT],
            }
          : { command: [...cli, "--", "sh", "-c", `echo ready; ${scriptOf(3)}`] };
      if (await killCaller(random, round, { ...caller, workspace })) ended += 1;
    });
    await until(async () => (await place.podman.containers()).length === 0);
    assert.ok(ended > 0 && ended < ROUNDS, String(ended));
    await nextExecWorks(place);
  });
});
