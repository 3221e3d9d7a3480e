// @ts-check
// Tests of background processes over a session.
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { background, connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { directoryOfTests } from "../support/target.mjs";
import { inTime } from "./in-time.mjs";
import { testBackground } from "./suite.mjs";

/**
 * Defines the tests for a session with a shell.
 *
 * @param {"bash" | "dash"} shell
 */
export function testInSession(shell) {
  /** Opens a session at an agent of its own. */
  const open = async () => {
    const agent = await startAgent();
    const sandbox = await connect(agent);
    const close = async () => {
      sandbox.close();
      await agent.stop();
    };
    return { runtime: await sandbox.sessions.create({ shell }), close };
  };
  testBackground(`a session of ${shell}`, open, { part: "runtime", alone: true });

  describe(`background processes and the state of a session of ${shell}`, () => {
    const { directory, subdirectory } = directoryOfTests();

    it("start with its directory, umask and exported variables, and change none of them", async (t) => {
      const opened = await open();
      t.after(opened.close);
      const runtime = inTime(opened.runtime);
      const cwd = subdirectory("work");
      await runtime.run(`cd '${cwd}'; export NOTE='it is set'; umask 027; set -u; LEFT=yes`);
      const processes = inTime(background(runtime, { baseDir: join(directory, "base") }));
      const ran = await processes.run('echo "$PWD|$NOTE|$(umask)|${LEFT-not exported}"; cd /');
      assert.deepEqual(ran, { exitCode: 0, output: `${cwd}|it is set|0027|not exported\n` });
      const { output } = await runtime.run('echo "$PWD|${SANDPIPE_PROCESS-unset}|$LEFT"');
      assert.equal(output, `${cwd}|unset|yes\n`);
    });
  });
}
