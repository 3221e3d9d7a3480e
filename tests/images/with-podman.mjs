// @ts-check
// What the tests of a `describe` with podman share: an engine with storage of its own, and where temporary files are made, so
// that it can be seen what is left.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";

import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { IMAGE, setUpPodman } from "../support/podman.mjs";

/** @typedef {Awaited<ReturnType<typeof setUpPodman>>} Podman */

/**
 * Sets it up before the tests, and removes it after them.
 *
 * @param {import("sandpipe/node").ContainerOptions["connection"]} [connection] to the agents in containers
 */
export function withPodman(connection) {
  /** @type {Podman} */
  let podman;
  /** @type {string} */
  let folder;
  const usual = process.env["TMPDIR"];

  const place = {
    /** For an agent in a container. */
    options: { image: IMAGE, network: "none", connection },

    get podman() {
      return podman;
    },

    /** For what tests make themselves. */
    get folder() {
      return folder;
    },

    /** Where this process, and what it starts, make temporary files. */
    get temporary() {
      return join(folder, "tmp");
    },

    /** No container is left, and no file. */
    async isEmpty() {
      assert.deepEqual(await podman.containers(), []);
      assert.deepEqual(readdirSync(place.temporary), []);
    },

    /**
     * Does something with an agent in a container, of which nothing is left then.
     *
     * @param {import("sandpipe/node").StartAgentOptions} options
     * @param {(sandbox: import("sandpipe").Sandbox, agent: Awaited<ReturnType<typeof startAgent>>) => Promise<void>} work
     */
    async withAgent(options, work) {
      const agent = await startAgent({ ...place.options, ...options });
      const sandbox = await connect(agent);
      try {
        await work(sandbox, agent);
      } finally {
        sandbox.close();
        await agent.stop();
      }
      await place.isEmpty();
    },
  };

  before(async () => {
    podman = await setUpPodman();
    folder = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
    mkdirSync(place.temporary);
    process.env["TMPDIR"] = place.temporary;
  });

  after(async () => {
    if (usual === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = usual;
    await podman.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  return place;
}
