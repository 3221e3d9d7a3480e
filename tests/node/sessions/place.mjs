// @ts-check
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";

import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { marked, marker } from "../../support/processes.mjs";

/**
 * Where sessions are tested; agent and sandbox are there while tests run.
 *
 * @typedef {{
 *   shell: "bash" | "dash",
 *   agent: Awaited<ReturnType<typeof startAgent>>,
 *   sandbox: import("sandpipe").Sandbox,
 *   inSession: typeof inSession,
 * }} Place
 */

/**
 * Tests against an agent with its extensions and against a plain one, with bash and with dash.
 *
 * @param {string} subject
 * @param {(place: Place) => void} define defines the tests
 */
export function testSessions(subject, define) {
  for (const [kind, args, shell] of /** @type {const} */ ([
    ["bash at an agent with its extensions", [], "bash"],
    ["bash at a plain agent", ["--without", "all"], "bash"],
    ["dash at an agent with its extensions", [], "dash"],
  ])) {
    describe(`${subject}, with ${kind}`, () => {
      const place = /** @type {Place} */ ({ shell, inSession });
      before(async () => {
        place.agent = await startAgent({ args });
        place.sandbox = await connect(place.agent);
      });
      after(() => place.agent.stop());
      define(place);
    });
  }
}

/**
 * Uses a session; afterwards nothing of it is left.
 *
 * @this {Place}
 * @param {(session: import("sandpipe").Session) => Promise<unknown>} act
 * @param {import("sandpipe").SessionOptions} [options]
 */
async function inSession(act, options = {}) {
  const mark = marker();
  const env = { ...options.env, ...mark };
  const session = await this.sandbox.sessions.create({ shell: this.shell, ...options, env });
  try {
    await act(session);
  } finally {
    await session.close();
  }
  assert.deepEqual(marked(mark), [], "no process is left");
}
