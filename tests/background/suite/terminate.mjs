// @ts-check
// How processes are stopped.
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";

import { until } from "../../support/processes.mjs";
import { groupMembers } from "../../support/target.mjs";

/** @import { Tests } from "../../support/matrix.mjs" */
/** @import { Subject } from "./subject.mjs" */

/** @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** @param {Subject} subject @param {Tests} tests */
export function testTerminate(subject, { shellContract, contract }) {
  describe("terminate", () => {
    contract("stops all that was started", async () => {
      const { id, pid } = await subject.processes.spawn("sleep 600 & (sleep 600; :) & sleep 600");
      const { status, exitCode, exitedAt } = await subject.processes.terminate(id);
      assert.deepEqual([status, exitCode, groupMembers(pid)], ["killed", 143, []]);
      assert.ok(exitedAt !== undefined);
    });

    shellContract("kills what does not stop", async () => {
      const ready = subject.path();
      const { id, pid } = await subject.processes.spawn(
        `trap '' TERM; : >'${ready}'; while :; do sleep 0.05; done`,
      );
      await until(() => existsSync(ready));
      const begin = performance.now();
      const { status, exitCode } = await subject.processes.terminate(id, { graceMs: 300 });
      assert.ok(performance.now() - begin >= 290);
      assert.deepEqual([status, exitCode, groupMembers(pid)], ["killed", 137, []]);
      const { exitCode: kept, exitedAt, outputDir } = await subject.processes.get(id);
      assert.deepEqual([kept, exitedAt !== undefined], [137, true]);
      assert.equal(readFileSync(join(outputDir, "exit_code"), "utf8").trim(), "137");
    });

    shellContract("lets a script clean up, and takes its code", async () => {
      const ready = subject.path();
      const { id } = await subject.processes.spawn(
        `trap 'echo bye; exit 3' TERM; : >'${ready}'; while :; do sleep 0.05; done`,
      );
      await until(() => existsSync(ready));
      const { status, exitCode } = await subject.processes.terminate(id);
      const output = await subject.text(id, { stream: "stdout" });
      assert.deepEqual([status, exitCode, output], ["exited", 3, "bye\n"]);
    });

    shellContract("stops what is suspended", async () => {
      const { id, pid } = await subject.processes.spawn("kill -STOP 0; sleep 600");
      const { status, exitCode } = await subject.processes.terminate(id);
      assert.deepEqual([status, exitCode, groupMembers(pid)], ["killed", 143, []]);
    });

    shellContract("may be called twice at once, and after the end", async () => {
      const ready = subject.path();
      const { id } = await subject.processes.spawn(
        `trap '' TERM; : >'${ready}'; while :; do sleep 0.05; done`,
      );
      await until(() => existsSync(ready));
      const both = await Promise.all([
        subject.processes.terminate(id, { graceMs: 100 }),
        subject.processes.terminate(id, { graceMs: 100 }),
      ]);
      both.push(await subject.processes.terminate(id));
      assert.deepEqual(
        both.map(({ status, exitCode }) => [status, exitCode]),
        Array(3).fill(["killed", 137]),
      );
    });

    shellContract("leaves no child that has another environment and ignores SIGTERM", async () => {
      const ready = subject.path();
      const stubborn = `trap "" TERM; : >'${ready}'; while :; do sleep 0.05; done`;
      const { id, pid } = await subject.processes.spawn(
        `env -i PATH="$PATH" sh -c ${quoted(stubborn)} & wait`,
      );
      await until(() => existsSync(ready));
      await subject.processes.terminate(id, { graceMs: 200 });
      assert.deepEqual(groupMembers(pid), []);
    });

    shellContract("stops what outlived its script", async () => {
      const { id, pid } = await subject.processes.spawn("sleep 600 & exit 3");
      assert.equal((await subject.processes.wait(id)).exitCode, 3);
      await until(() => groupMembers(pid).length === 1);
      const { status, exitCode } = await subject.processes.terminate(id);
      assert.deepEqual([status, exitCode, groupMembers(pid)], ["exited", 3, []]);
    });

    shellContract("takes no stranger for the process whose number it has", async () => {
      const stranger = await subject.processes.spawn("sleep 600");
      const { id, outputDir } = await subject.processes.spawn("sleep 600");
      await subject.processes.terminate(id);
      // As if the machine had been started anew, and the number given to another.
      const file = join(outputDir, "meta.json");
      const meta = readFileSync(file, "utf8");
      writeFileSync(file, meta.replace(/"pid":\d+/, `"pid":${stranger.pid}`));
      rmSync(join(outputDir, "exit_code"));
      rmSync(join(outputDir, "exited_at"));
      assert.equal((await subject.processes.get(id)).status, "failed");
      assert.equal((await subject.processes.terminate(id, { graceMs: 0 })).status, "failed");
      assert.equal((await subject.processes.get(stranger.id)).status, "running");
    });
  });
}
