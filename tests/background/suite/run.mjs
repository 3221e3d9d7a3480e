// @ts-check
// How commands are run.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";

import { isSandpipeError } from "sandpipe";
import { until } from "../../support/processes.mjs";
import { timedBy } from "../timed-runtime.mjs";

/** @import { Runtime } from "sandpipe" */
/** @import { Tests } from "../../support/matrix.mjs" */
/** @import { Subject } from "./subject.mjs" */

/** @param {Subject} subject @param {Tests} tests */
export function testRun(subject, { it, shellContract, contract }) {
  describe("run", () => {
    contract("gives the true exit code and the output in order of arrival", async () => {
      assert.deepEqual(await subject.processes.run("echo hello"), {
        output: "hello\n",
        exitCode: 0,
      });
      assert.deepEqual(await subject.processes.run("echo a; echo b >&2; echo c; exit 42"), {
        output: "a\nb\nc\n",
        exitCode: 42,
      });
      const { exitCode, output } = await subject.processes.run("nonexistent_command_xyz");
      assert.equal(exitCode, 127);
      assert.match(output, /nonexistent_command_xyz/);
    });

    shellContract("starts a command where, with what and as spawn does", async () => {
      const own = subject.background({ namespace: "options" });
      const cwd = join(subject.directory, "a 'place'");
      mkdirSync(cwd);
      const env = { VALUE: `it's "$HOME" é` };
      const script = `printf '%s|%s' "$PWD" "$VALUE"; exit 3`;
      const options = { cwd, env, name: "a name", ignoreOutput: true };
      assert.deepEqual(await own.run(script, { cwd, env }), {
        output: `${cwd}|${env.VALUE}`,
        exitCode: 3,
      });
      assert.equal((await own.run(script, options)).exitCode, 3);
      const [kept] = await own.list();
      assert.deepEqual([kept?.name, kept?.script], ["a name", script]);
    });

    it("has the target stop a command whose time is over", async () => {
      const [begun, isOver] = [subject.path(), subject.path()];
      const runtime = timedBy(subject.runtime, isOver);
      const own = subject.background({ runtime, namespace: "timeout" });
      const script = `echo begun; : >'${begun}'; sleep 600`;
      const running = own.run(script, { timeoutMs: 600_000 });
      await until(() => existsSync(begun));
      writeFileSync(isOver, "");
      assert.deepEqual(await running, { output: "begun\n", exitCode: 124 });
    });

    it("keeps nothing of what it has handed over", async () => {
      const own = subject.background({ namespace: "run" });
      await own.run("echo hello");
      assert.deepEqual(await own.list(), []);
    });

    it("says that a command still runs, which goes on", async () => {
      const ready = subject.path();
      // The wait begins when the start has been answered, which is here when there is output.
      const runtime = /** @type {Runtime} */ ({
        async run(script, opts) {
          const result = await subject.runtime.run(script, opts);
          await until(() => existsSync(ready));
          return result;
        },
      });
      const own = subject.background({ runtime, namespace: "patience" });
      const script = `echo begun; : >'${ready}'; sleep 600`;
      const result = await own.run(script, { waitTimeoutMs: 300 });
      assert.deepEqual([result.output, result.exitCode], ["begun\n", 1]);
      const [running] = await own.list();
      assert.equal(running?.status, "running");
      assert.match(result.failureReason ?? "", new RegExp(`after 300 ms.*${running?.id}`));
      assert.deepEqual([result.timedOut, result.id], [true, running?.id]);
      await own.terminate(running?.id ?? "");
    });

    it("rejects with `check` where a command still runs, which goes on", async () => {
      const own = subject.background({ namespace: "check" });
      const running = own.run("echo begun; exec sleep 600", { check: true, waitTimeoutMs: 300 });
      await assert.rejects(running, (error) => {
        assert.ok(isSandpipeError(error, "timeout"), String(error));
        assert.match(error.message, /the end of background process \S+, which goes on,.* 300 ms/);
        assert.equal(error.output, "begun\n");
        return true;
      });
      const [left] = await own.list();
      assert.equal(left?.status, "running");
      await own.terminate(left?.id ?? "");
      assert.equal((await own.run("exit 3", { check: true })).exitCode, 3);
    });

    shellContract("keeps no exit code where none is wanted", async () => {
      const wanted = { captureExitCode: false };
      assert.deepEqual(await subject.processes.run("echo x; exit 3", wanted), {
        output: "x\n",
        exitCode: 0,
      });
      const { exitCode } = await subject.processes.run("sleep 600", {
        ...wanted,
        waitTimeoutMs: 50,
      });
      assert.equal(exitCode, 1);
    });

    shellContract("does not make a death of an end whose code is not kept", async () => {
      const own = subject.background({ namespace: "left" });
      const script = "(trap '' TERM; while :; do sleep 0.1; done) & echo $!; exit 0";
      const { exitCode } = await own.run(script, { captureExitCode: false, ignoreOutput: true });
      assert.equal(exitCode, 0);
      const [ended] = await own.list();
      assert.equal(ended?.status, "exited");
      const { status } = await own.terminate(ended?.id ?? "", { graceMs: 100 });
      assert.equal(status, "exited");
      assert.equal((await own.get(ended?.id ?? "")).status, "exited");
    });

    it("gives the first part of long output", async () => {
      const own = subject.background({ namespace: "head" });
      const { output } = await own.run("echo abé😀def", { maxOutputBytes: 7 });
      assert.equal(output, "abé");
      assert.equal((await own.run("echo abc", { maxOutputBytes: 0 })).output, "");
      // The rest is there to be read.
      assert.equal((await own.list()).length, 2);
      assert.equal((await own.run("echo abc", { maxOutputBytes: 4 })).output, "abc\n");
    });

    contract("gives output that takes several reads", async () => {
      const { output } = await subject.processes.run("seq 1 400000");
      assert.equal(output.length, 2_688_895);
      assert.ok(output.startsWith("1\n2\n") && output.endsWith("399999\n400000\n"));
      // A runtime gets output in pieces, which end within characters.
      const characters = "é€😀a".repeat(5000);
      const script = `for i in 1 2 3 4 5 6 7 8 9 10; do cat <<'EOF'\n${characters}\nEOF\ndone`;
      const text = (await subject.processes.run(script)).output;
      assert.ok(text === `${characters}\n`.repeat(10), "it has all characters");
    });

    it("leaves the output where it is", async () => {
      const own = subject.background({ namespace: "ignored" });
      const { output, exitCode } = await own.run("echo hello; exit 2", { ignoreOutput: true });
      const [process] = await own.list();
      assert.deepEqual([output, exitCode], [`Output of 6 bytes is in ${process?.stdoutPath}.`, 2]);
    });

    shellContract("puts the output into a file, and makes its directory", async () => {
      const outputFile = join(subject.directory, "it's a", "new", "-file");
      const { output } = await subject.processes.run("echo hello; echo oops >&2", { outputFile });
      assert.equal(output, "hello\noops\n");
      assert.equal(readFileSync(outputFile, "utf8"), "hello\noops\n");
      const note = await subject.processes.run("echo hi", { outputFile, ignoreOutput: true });
      assert.equal(note.output, `Output of 3 bytes is in ${outputFile}.`);
      assert.equal(readFileSync(outputFile, "utf8"), "hi\n");
    });
  });
}
