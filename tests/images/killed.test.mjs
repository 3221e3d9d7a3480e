// @ts-check
// Containers and callers that are killed at any moment: nothing is left, and no result is invented.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { dist } from "../../scripts/project.mjs";
import {
  atRandomMoments,
  killCaller,
  nodeCaller,
  runAll,
  scriptOf,
  workspaceOf,
} from "../support/killed-at-random.mjs";
import { IMAGE, noSmallImage, setUpPodman } from "../support/podman.mjs";
import { until } from "../support/processes.mjs";

describe("killed at random moments", { skip: noSmallImage }, () => {
  /** @type {Awaited<ReturnType<typeof setUpPodman>>} */
  let podman;
  /** @type {string} */
  let folder;
  /** Where temporary files are made. @type {string} */
  let temporary;
  const usual = process.env["TMPDIR"];

  before(async () => {
    podman = await setUpPodman();
    folder = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
    temporary = join(folder, "tmp");
    mkdirSync(temporary);
    process.env["TMPDIR"] = temporary;
  });

  after(async () => {
    if (usual === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = usual;
    await podman.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs a command in a new agent, whose start removes what was left. */
  async function nextExecWorks() {
    // A folder whose maker was killed before it could say that it lives is removed a minute later.
    const aMinuteAgo = Date.now() / 1_000 - 61;
    for (const name of readdirSync(temporary)) {
      utimesSync(join(temporary, name), aMinuteAgo, aMinuteAgo);
    }
    const agent = await startAgent({ image: IMAGE, network: "none" });
    const { execs } = await connect(agent);
    assert.equal((await execs.exec("sh", ["-c", "exit 5"])).exitCode, 5);
    await agent.stop();
    assert.deepEqual(await podman.containers(), []);
    assert.deepEqual(readdirSync(temporary), []);
  }

  it("containers", async () => {
    const parent = join(folder, "containers");
    mkdirSync(parent);
    let known = 0;
    await atRandomMoments("a container is killed", async (random, round) => {
      const workspace = workspaceOf(parent, round);
      const agent = await startAgent({ image: IMAGE, network: "none", workspace });
      const sandbox = await connect(agent);
      // Its id, unless the network is this machine's.
      const id = (await sandbox.execs.exec("hostname")).output.trim();
      const kill = pause(random.between(0, 400)).then(() => podman.podman("kill", id));
      const [, count] = await Promise.all([kill, runAll(sandbox.execs, workspace)]);
      known += count;
      sandbox.close();
      await agent.stop();
    });
    // Some were killed before their execs had ended, and some execs had ended before.
    assert.ok(known > 0 && known < 1000, String(known));
    await nextExecWorks();
  });

  it("callers", async () => {
    const parent = join(folder, "callers");
    mkdirSync(parent);
    const program = [process.execPath, join(dist, "cli", "sandpipe.js"), "run"];
    let ended = 0;
    await atRandomMoments("a caller with an image is killed", async (random, round) => {
      const workspace = workspaceOf(parent, round);
      const cli = [...program, "--image", IMAGE, "--network", "none", "--workspace", workspace];
      const command =
        round % 2 === 0
          ? nodeCaller({ image: IMAGE, network: "none" })
          : [...cli, "--", "sh", "-c", `echo ready; ${scriptOf(3)}`];
      if (await killCaller(random, { command, workspace })) ended += 1;
    });
    await until(async () => (await podman.containers()).length === 0);
    assert.ok(ended > 0 && ended < 50, String(ended));
    await nextExecWorks();
  });
});
