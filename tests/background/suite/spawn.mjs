// @ts-check
// How processes are started, and what becomes of them.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { constants, homedir } from "node:os";
import { join } from "node:path";
import { describe } from "node:test";

import { BackgroundError } from "sandpipe";

import { until } from "../../support/processes.mjs";
import { groupMembers, offspring } from "../../support/target.mjs";

/** @import { Tests } from "../../support/matrix.mjs" */
/** @import { Subject } from "./subject.mjs" */

/** @param {Subject} subject @param {Tests} tests */
export function testSpawn(subject, { shellContract, contract, isWhole }) {
  describe("spawn", () => {
    contract("answers in one round trip, and the files say the same", async () => {
      let calls = 0;
      const counting = subject.background({
        runtime: { run: (script, opts) => ((calls += 1), subject.runtime.run(script, opts)) },
        namespace: "spawn",
      });
      const script = "echo out; echo err >&2; exit 3";
      // Times are kept in whole seconds.
      const begin = Math.floor(Date.now() / 1000) * 1000;
      const spawned = await counting.spawn(script, { name: "a name" });
      assert.equal(calls, 1);
      const outputDir = join(subject.baseDir, "spawn", spawned.id);
      assert.deepEqual(spawned, {
        id: spawned.id,
        name: "a name",
        pid: spawned.pid,
        status: "running",
        script,
        startedAt: spawned.startedAt,
        outputDir,
        stdoutPath: join(outputDir, "stdout.log"),
        stderrPath: join(outputDir, "stderr.log"),
      });
      const ended = await counting.wait(spawned.id);
      const { exitedAt, ...rest } = ended;
      assert.deepEqual(rest, { ...spawned, status: "exited", exitCode: 3 });
      for (const time of [ended.startedAt, exitedAt ?? ""]) {
        assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        assert.ok(begin <= Date.parse(time) && Date.parse(time) <= Date.now(), time);
      }
      assert.deepEqual(await counting.get(spawned.id), ended);
      assert.deepEqual(await counting.list(), [ended]);

      assert.equal(readFileSync(spawned.stdoutPath, "utf8"), "out\n");
      assert.equal(readFileSync(spawned.stderrPath, "utf8"), "err\n");
      assert.equal(readFileSync(join(outputDir, "exit_code"), "utf8").trim(), "3");
      const meta = JSON.parse(readFileSync(join(outputDir, "meta.json"), "utf8"));
      assert.deepEqual([meta.id, meta.pid, meta.name], [spawned.id, spawned.pid, "a name"]);
      assert.deepEqual([meta.script, meta.startedAt], [script, spawned.startedAt]);
    });

    contract("tells how every end came about", async () => {
      const cases = /** @type {const} */ ([
        ["true", "exited", 0],
        ["exit 42", "exited", 42],
        ["exit 255", "exited", 255],
        ["exec sh -c 'exit 7'", "exited", 7],
        ["nonexistent_command_xyz", "exited", 127],
        ["set -e; false; true", "exited", 1],
        ["trap 'exit 9' EXIT; false", "exited", 9],
        ["kill -TERM $$", "killed", 143],
        ["kill -KILL $$", "killed", 137],
        ["kill -INT $$; echo survived", "exited", 130],
        ["kill -HUP $$; exit 5", "exited", 5],
        ["kill -TERM 0", "killed", 143],
        ["kill -USR1 0", "exited", 138],
      ]);
      const endings = await Promise.all(cases.map(([script]) => subject.ending(script)));
      assert.deepEqual(
        endings.map(({ status, exitCode }, index) => [cases[index]?.[0], status, exitCode]),
        cases,
      );
    });

    contract(
      "outlives every signal that it can, and tells by which one the script ended",
      async () => {
        const signals = ["ABRT", "BUS", "FPE", "ILL", "IO", "PROF"];
        signals.push("SEGV", "SYS", "TRAP", "VTALRM", "XCPU", "XFSZ");
        const numbers = signals.map(
          (signal) => constants.signals[/** @type {NodeJS.Signals} */ (`SIG${signal}`)],
        );
        const endings = await Promise.all(
          numbers.map((number) => subject.ending(`ulimit -c 0; kill -${number} 0`)),
        );
        assert.deepEqual(
          endings.map(({ status, exitCode }) => [status, exitCode]),
          numbers.map((number) => ["exited", 128 + number]),
        );
      },
    );

    shellContract("tells that a script is none", async () => {
      const { id, status, exitCode } = await subject.ending("echo begun\nif true; then (");
      assert.equal(status, "exited");
      assert.ok(exitCode === 2 || exitCode === 1, String(exitCode));
      assert.match(await subject.text(id, { stream: "stderr" }), /syntax|unexpected/i);
    });

    contract("takes scripts of any content and length", async () => {
      const cases = [
        ["printf '%s' \"it's\" '\"' \"\\$\" '`'", "it's\"$`"],
        ["cat <<'EOF'\n$x `y`\n\nEOF\necho é😀", "$x `y`\n\né😀\n"],
        ["echo end # a comment", "end\n"],
        ["\n\necho 1 \\\n2", "1 2\n"],
        ["", ""],
        ['#!/bin/sh\nprintf %s "$#"', "0"],
        ["cat; echo read", "read\n"],
        [`# ${'it\'s "long" 😀\n# '.repeat(100_000)}\necho reached`, "reached\n"],
      ];
      assert.ok(Buffer.byteLength(cases.at(-1)?.[0] ?? "") > 1_900_000);
      for (const [script = "", expected] of cases) {
        const { id, exitCode } = await subject.ending(script);
        assert.deepEqual([exitCode, await subject.text(id)], [0, expected], script.slice(0, 100));
        assert.equal((await subject.processes.get(id)).script, script);
      }
    });

    shellContract("adds nothing to a script", async () => {
      for (const script of ["true\\", "true\\\n", "true # é"]) {
        const { outputDir } = await subject.processes.spawn(script);
        assert.equal(readFileSync(join(outputDir, "script"), "utf8"), script);
      }
    });

    contract("runs where and with what it is told", async () => {
      const odd = join(subject.directory, `-a 'b' "c" $d\n\`e\``);
      mkdirSync(odd);
      const value = `it's "$HOME" \`x\`\n\\ é`;
      const script = `printf '%s|%s' "$PWD" "$VALUE"`;
      const options = { cwd: odd, env: { VALUE: value, PATH: "/nowhere" } };
      const { id } = await subject.ending(script, options);
      assert.equal(await subject.text(id), `${odd}|${value}`);
      assert.equal(
        await subject.text((await subject.ending("pwd", { cwd: "~" })).id),
        `${homedir()}\n`,
      );
      // Relative to where the runtime is.
      const there = (await subject.runtime.run("pwd")).output.trim();
      assert.equal(
        await subject.text((await subject.ending("pwd", { cwd: "." })).id),
        `${there}\n`,
      );
    });

    shellContract("hands over variables as long as the system takes them", async () => {
      const A = "x".repeat(128 * 1024 - "A=".length - 1);
      const { id, exitCode } = await subject.ending('printf %s "${#A}"', { env: { A } });
      assert.deepEqual([exitCode, await subject.text(id)], [0, String(A.length)]);
    });

    shellContract("refuses a directory that is not there", async () => {
      const before = (await subject.processes.list()).length;
      await assert.rejects(
        subject.processes.spawn("true", { cwd: join(subject.directory, "none") }),
        (error) => {
          assert.ok(error instanceof BackgroundError);
          assert.match(error.message, /none/);
          return true;
        },
      );
      assert.equal((await subject.processes.list()).length, before);
    });

    shellContract("keeps the odd characters of baseDir", async () => {
      const odd = join(subject.directory, `-it's "a" $base\n\`dir\``);
      const inOdd = subject.background({ baseDir: odd });
      const { id } = await inOdd.spawn("echo hello");
      const { stdoutPath } = await inOdd.wait(id);
      assert.equal(stdoutPath, join(odd, "default", id, "stdout.log"));
      assert.equal(readFileSync(stdoutPath, "utf8"), "hello\n");
      assert.equal((await inOdd.terminate(id)).status, "exited");
      await inOdd.remove(id);
      assert.deepEqual(await inOdd.list(), []);
    });

    // One connection of SSH carries eight scripts at a time.
    const count = isWhole ? 50 : 20;
    contract(`gives ${count} at once an id each; names may be the same`, async () => {
      const many = subject.background({ namespace: "many" });
      const spawned = await Promise.all(
        Array.from({ length: count }, () => many.spawn("exit 4", { name: "same" })),
      );
      assert.equal(new Set(spawned.map(({ id }) => id)).size, count);
      for (const { id } of spawned) assert.equal((await many.wait(id)).exitCode, 4);
      const listed = await many.list();
      assert.equal(listed.filter(({ name }) => name === "same").length, count);
    });

    contract("stops it on the target when its time is over, and leaves nothing", async () => {
      const scripts = [
        "sleep 600",
        "sleep 600 & sleep 600",
        "trap 'exit 0' TERM; sleep 600 & wait",
        "kill -STOP 0; sleep 600",
      ];
      for (const script of scripts) {
        const { id, pid } = await subject.processes.spawn(script, { timeoutMs: 150 });
        const { status, exitCode } = await subject.processes.wait(id);
        assert.deepEqual([status, exitCode], ["killed", 124], script);
        assert.deepEqual(
          groupMembers(pid).filter((member) => Number(member) !== pid),
          [],
        );
        await until(() => offspring(id).length === 0);
        assert.equal((await subject.processes.readOutput(id)).status, "killed");
      }
      const inTime = await subject.processes.spawn("exit 124", { timeoutMs: 600_000 });
      const { status, exitCode } = await subject.processes.wait(inTime.id);
      assert.deepEqual([status, exitCode], ["exited", 124]);
      await until(() => offspring(inTime.id).length === 0);
      const killed = await subject.processes.spawn("sleep 600", { timeoutMs: 600_000 });
      process.kill(-killed.pid, "SIGKILL");
      await until(() => offspring(killed.id).length === 0);
    });
  });
}
