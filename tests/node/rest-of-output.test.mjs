// Output that the last parts of a pipeline write after the command's own process has ended. They ignore the hangup
// of a terminal whose shell has ended.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { background, connect } from "sandpipe";
import { localRuntime, sshRuntime, startAgent } from "sandpipe/node";
import { marked, until } from "../support/processes.mjs";
import { mark } from "../support/script.mjs";
import { startSshd } from "../support/sshd.mjs";

/** Writes for 160 ms when the shell is gone, in pauses that are short beside the 200 ms of silence that end an output. */
const LATE =
  "trap '' HUP; (while kill -0 $$ 2>/dev/null; do :; done; for i in 1 2 3 4 5 6 7 8; do sleep 0.02; echo $i; done) &";

/** @param {string} pid */
function kill(pid) {
  try {
    process.kill(Number(pid), "SIGKILL");
  } catch (error) {
    // It may have ended meanwhile.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== "ESRCH") throw error;
  }
}

/** @typedef {(script: string) => Promise<{ exitCode: number, output: string }>} Run */

describe("the rest of a command's output", { concurrency: true }, () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>[]} */
  const agents = [];
  /** @type {import("sandpipe").Sandbox[]} */
  const sandboxes = [];
  /** @type {Awaited<ReturnType<typeof startSshd>>} */
  let sshd;
  /** @type {import("sandpipe/node").SshRuntime} */
  let ssh;
  /** @type {Record<string, Run>} */
  let runs;
  /** Of an agent that waits for a writer however slow the machine is. @type {Record<string, Run>} */
  let patientRuns;
  const baseDir = mkdtempSync(join(tmpdir(), "sandpipe-test-"));

  /** @param {string[]} args @returns {Promise<Record<string, Run>>} */
  const runsOfAgent = async (...args) => {
    const agent = await startAgent({ args });
    agents.push(agent);
    const sandbox = await connect(agent);
    sandboxes.push(sandbox);
    const { execs } = sandbox;
    return {
      exec: (script) => execs.exec("sh", ["-c", script]),
      "exec in a terminal": async (script) => {
        const { exitCode, output } = await execs.exec("sh", ["-c", script], { pty: true });
        return { exitCode, output: output.replaceAll("\r\n", "\n") };
      },
      "background.run": (script) => sandbox.background.run(script),
    };
  };

  before(async () => {
    sshd = await startSshd();
    ssh = sshRuntime(sshd.options);
    const local = localRuntime();
    runs = {
      ...(await runsOfAgent()),
      localRuntime: (script) => local.run(script),
      sshRuntime: (script) => ssh.run(script),
      "background.run of this machine": (script) => background(local, { baseDir }).run(script),
      "background.run over SSH": (script) => background(ssh, { baseDir }).run(script),
    };
    patientRuns = { ...runs, ...(await runsOfAgent("--time-limit", "output-silence=1m")) };
  });
  after(async () => {
    for (const sandbox of sandboxes) sandbox.close();
    await ssh.close();
    await sshd.stop();
    await Promise.all(agents.map((agent) => agent.stop()));
    rmSync(baseDir, { recursive: true });
  });

  for (const target of [
    "exec",
    "exec in a terminal",
    "localRuntime",
    "sshRuntime",
    "background.run",
    "background.run of this machine",
    "background.run over SSH",
  ]) {
    describe(target, () => {
      it("is taken when the process has ended", async () => {
        const run = /** @type {Run} */ (patientRuns[target]);
        const { exitCode, output } = await run(`${LATE} echo hi; exit 4`);
        assert.deepEqual(
          { exitCode, output },
          { exitCode: 4, output: "hi\n1\n2\n3\n4\n5\n6\n7\n8\n" },
        );
        const tee = `trap "" HUP; exec > >(tee /dev/null) 2>&1; echo hi; exit 4`;
        const teed = await run(`exec bash --norc -c '${tee}'`);
        assert.deepEqual([teed.exitCode, teed.output], [4, "hi\n"]);
        const stderr = 'trap "" HUP; (echo err >&2; exit 2) 2> >(tee /dev/null >&2)';
        const failed = await run(`exec bash --norc -c '${stderr}'`);
        assert.deepEqual([failed.exitCode, failed.output], [2, "err\n"]);
      });

      it("ends while a job in the background is silent, or writes on and on", async () => {
        const run = /** @type {Run} */ (runs[target]);
        const { line, env } = mark();
        try {
          for (const job of ["sleep 600", "sh -c 'while sleep 0.05; do echo more; done'"]) {
            const { exitCode } = await run(`${line} trap '' HUP; ${job} & exit 7`);
            assert.equal(exitCode, 7, job);
          }
        } finally {
          await until(() => {
            const left = marked(env);
            for (const pid of left) kill(pid);
            return left.length === 0;
          });
        }
      });
    });
  }
});
