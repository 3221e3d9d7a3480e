// @ts-check
/** Where a command prints a workload. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";
import { begin, measured } from "./child.mjs";
import { openSsh } from "./openssh.mjs";
import { workloadOf } from "./workloads.mjs";

/**
 * @typedef {object} Target what a client is given
 * @property {string} url the agent's
 * @property {string} [token]
 * @property {[string, ...string[]]} command what prints the workload
 * @property {string} [pages] what serves the pages of the bench, unless the agent's URL does
 * @property {string[]} [ssh] the program and its arguments that run a script on the same machine
 *
 * @typedef {object} OpenTarget
 * @property {Target} target
 * @property {import("./workloads.mjs").Expected} expected
 * @property {() => Promise<void>} [tidy] after each measurement
 * @property {() => Promise<void>} end
 */

/**
 * Prepared bytes: what the client itself costs.
 *
 * @param {string} workload
 * @param {"frames"} [form] Server-Sent Events, unless told
 * @returns {Promise<OpenTarget>}
 */
export async function openPrepared(workload, form) {
  const { child, answer } = await begin("server.mjs", [workload, ...(form ? [form] : [])]);
  const { url, ...expected } = answer;
  return { target: { url, command: ["x"] }, expected, end: async () => void child.kill() };
}

/**
 * The real agent and a real process; OpenSSH beside it.
 *
 * @param {string} workload
 * @param {string[]} [args] the agent's
 * @returns {Promise<OpenTarget>}
 */
export async function openAgent(workload, args = []) {
  /** What is to be ended, the last first. @type {(() => Promise<unknown>)[]} */
  const begun = [];
  const end = async () => {
    for (const stop of begun.reverse()) await stop();
  };
  try {
    const folder = await mkdtemp(join(tmpdir(), "sandpipe-bench-"));
    begun.push(() => rm(folder, { recursive: true }));
    const file = join(folder, workload);
    const expected = await measured("write.mjs", [workload, file]);
    const agent = await startAgent({ args });
    begun.push(() => agent.stop());
    const ssh = await openSsh();
    begun.push(ssh.stop);
    const { url, token } = agent;
    const { execs } = await connect({ url, token });
    const command = /** @type {[string, ...string[]]} */ ([...workloadOf(workload).program, file]);
    return {
      target: { url, token, command, ssh: ssh.command },
      expected,
      // What one client has had printed is no burden to the next.
      async tidy() {
        for (const { id } of await execs.list()) await execs.delete(id);
      },
      end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}
