// @ts-check
/**
 * Places where sessions are tested.
 *
 * The whole suite runs with bash at an agent with its extensions: bash is the default shell of a
 * session. A new test belongs to
 *
 * - `it` if it proves a decision of the client, such as the order of runs;
 * - `shellContract` if it depends on the shell: how it reads a script, what it keeps, what it does
 *   at a signal;
 * - `runtimeContract` if it depends on the agent: how input, output and signals get to the shell,
 *   and what the agent answers for a shell that is gone. Without extensions, most of that differs;
 * - `contract` if both could change its outcome.
 */

import assert from "node:assert/strict";
import { after, before, describe } from "node:test";

import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { inTime } from "../../background/in-time.mjs";
import { testsOf } from "../../support/matrix.mjs";
import { marked, marker } from "../../support/processes.mjs";

/** @import { Tests } from "../../support/matrix.mjs" */

/**
 * A place for sessions; agent and sandbox exist while tests run.
 *
 * @typedef {{
 *   shell: "bash" | "dash",
 *   agent: Awaited<ReturnType<typeof startAgent>>,
 *   sandbox: import("sandpipe").Sandbox,
 *   inSession: typeof inSession,
 * }} Place
 */

/** Environment of a session whose shell's messages a test reads. */
export const ENGLISH = { LC_ALL: "C" };

/**
 * Tests against an agent with its extensions and against a plain one, with bash and with dash.
 *
 * @param {string} subject
 * @param {(place: Place, tests: Tests) => void} define defines the tests
 */
export function testSessions(subject, define) {
  for (const [kind, args, shell, part] of /** @type {const} */ ([
    ["bash at an agent with its extensions", [], "bash", "whole"],
    ["bash at a plain agent", ["--without", "all"], "bash", "runtime"],
    ["dash at an agent with its extensions", [], "dash", "shell"],
  ])) {
    describe(`${subject}, with ${kind}`, () => {
      const place = /** @type {Place} */ ({ shell, inSession });
      before(async () => {
        place.agent = await startAgent({ args });
        place.sandbox = await connect(place.agent);
      });
      after(() => place.agent.stop());
      define(place, testsOf(part));
    });
  }
}

/**
 * Creates a session whose calls have a deadline.
 *
 * @param {import("sandpipe").Sandbox} sandbox
 * @param {import("sandpipe").SessionOptions} options
 */
export async function createSession(sandbox, options) {
  return inTime(await inTime(sandbox.sessions).create(options));
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
  const session = await createSession(this.sandbox, { shell: this.shell, ...options, env });
  try {
    await act(session);
  } finally {
    await session.close();
  }
  assert.deepEqual(marked(mark), [], "no process is left");
}
