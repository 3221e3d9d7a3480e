// @ts-check
// What background processes do over every runtime.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { background, BackgroundError, InvalidArgumentError, NotFoundError } from "sandpipe";

import { until } from "../processes.mjs";
import { groupMembers, temporaryDirectory } from "./target.mjs";

/** @import { Background, ReadOutputOptions, Runtime } from "sandpipe" */

/** Enough for anything here to happen, for what must not wait so long. */
const LONG_MS = 30_000;

/** @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * Defines the tests for a runtime whose target is this machine.
 *
 * @param {string} name
 * @param {() => Promise<{ runtime: Runtime, close: () => unknown }>} open
 * @param {{ alone?: boolean }} [options] `alone`: it runs one script at a time
 */
export function testBackground(name, open, { alone = false } = {}) {
  describe(`background processes over ${name}`, () => {
    /** @type {string} */
    let directory;
    /** @type {string} */
    let baseDir;
    /** @type {Runtime} */
    let runtime;
    /** @type {() => unknown} */
    let close;
    /** @type {Background} */
    let processes;

    before(async () => {
      directory = temporaryDirectory();
      baseDir = join(directory, "base");
      ({ runtime, close } = await open());
      processes = background(runtime, { baseDir });
    });
    after(async () => {
      for (const { id } of await processes.list()) await processes.terminate(id, { graceMs: 0 });
      await close();
      rmSync(directory, { recursive: true });
    });

    /** A path that nobody else has. */
    let count = 0;
    const path = () => join(directory, `file ${(count += 1)}`);

    /** @param {string} id @param {ReadOutputOptions} [options] */
    const text = async (id, options) => (await processes.readOutput(id, options)).output;

    /**
     * The script's ending.
     *
     * @param {string} script
     * @param {import("sandpipe").SpawnOptions} [options]
     */
    const ending = async (script, options) => {
      const { id } = await processes.spawn(script, options);
      const { status, exitCode } = await processes.wait(id);
      return { id, status, exitCode };
    };

    describe("spawn", () => {
      it("answers in one round trip, and the files say the same", async () => {
        let calls = 0;
        const counting = background(
          { run: (script, opts) => ((calls += 1), runtime.run(script, opts)) },
          { baseDir, workspace: "spawn" },
        );
        const script = "echo out; echo err >&2; exit 3";
        const spawned = await counting.spawn(script, { name: "a name" });
        assert.equal(calls, 1);
        const outputDir = join(baseDir, "spawn", spawned.id);
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
          assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000, time);
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

      it("tells how every end came about", async () => {
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
        const endings = await Promise.all(cases.map(([script]) => ending(script)));
        assert.deepEqual(
          endings.map(({ status, exitCode }, index) => [cases[index]?.[0], status, exitCode]),
          cases,
        );
      });

      it("tells that a script is none", async () => {
        const { id, status, exitCode } = await ending("echo begun\nif true; then (");
        assert.equal(status, "exited");
        assert.ok(exitCode === 2 || exitCode === 1, String(exitCode));
        assert.match(await text(id, { stream: "stderr" }), /syntax|unexpected/i);
      });

      it("takes scripts of any content and length", async () => {
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
          const { id, exitCode } = await ending(script);
          assert.deepEqual([exitCode, await text(id)], [0, expected], script.slice(0, 100));
          assert.equal((await processes.get(id)).script, script);
        }
      });

      it("runs where and with what it is told", async () => {
        const odd = join(directory, `-a 'b' "c" $d\n\`e\``);
        mkdirSync(odd);
        const value = `it's "$HOME" \`x\`\n\\ é`;
        const script = `printf '%s|%s' "$PWD" "$VALUE"`;
        const options = { cwd: odd, env: { VALUE: value, PATH: "/nowhere" } };
        const { id } = await ending(script, options);
        assert.equal(await text(id), `${odd}|${value}`);
        assert.equal(await text((await ending("pwd", { cwd: "~" })).id), `${homedir()}\n`);
        // Relative to where the runtime is.
        const there = (await runtime.run("pwd")).output.trim();
        assert.equal(await text((await ending("pwd", { cwd: "." })).id), `${there}\n`);
      });

      it("refuses a directory that is not there", async () => {
        const before = (await processes.list()).length;
        await assert.rejects(processes.spawn("true", { cwd: join(directory, "none") }), (error) => {
          assert.ok(error instanceof BackgroundError);
          assert.match(error.message, /none/);
          return true;
        });
        assert.equal((await processes.list()).length, before);
      });

      it("keeps the odd characters of baseDir", async () => {
        const odd = join(directory, `-it's "a" $base\n\`dir\``);
        const inOdd = background(runtime, { baseDir: odd });
        const { id } = await inOdd.spawn("echo hello");
        const { stdoutPath } = await inOdd.wait(id);
        assert.equal(stdoutPath, join(odd, "default", id, "stdout.log"));
        assert.equal(readFileSync(stdoutPath, "utf8"), "hello\n");
        assert.equal((await inOdd.terminate(id)).status, "exited");
        await inOdd.remove(id);
        assert.deepEqual(await inOdd.list(), []);
      });

      it("gives 50 at once an id each; names may be the same", async () => {
        const many = background(runtime, { baseDir, workspace: "many" });
        const spawned = await Promise.all(
          Array.from({ length: 50 }, () => many.spawn("exit 4", { name: "same" })),
        );
        assert.equal(new Set(spawned.map(({ id }) => id)).size, 50);
        for (const { id } of spawned) assert.equal((await many.wait(id)).exitCode, 4);
        const listed = await many.list();
        assert.equal(listed.filter(({ name }) => name === "same").length, 50);
      });

      it("stops it on the target when its time is over, and leaves nothing", async () => {
        const scripts = [
          "sleep 600",
          "sleep 600 & sleep 600",
          "trap 'exit 0' TERM; sleep 600 & wait",
        ];
        for (const script of scripts) {
          const { id, pid } = await processes.spawn(script, { timeoutMs: 150 });
          const { status, exitCode } = await processes.wait(id);
          assert.deepEqual([status, exitCode], ["killed", 124], script);
          await until(() => groupMembers(pid).length === 0);
          assert.equal((await processes.readOutput(id)).status, "killed");
        }
        const inTime = await processes.spawn("exit 124", { timeoutMs: 600_000 });
        const { status, exitCode } = await processes.wait(inTime.id);
        assert.deepEqual([status, exitCode], ["exited", 124]);
        await until(() => groupMembers(inTime.pid).length === 0);
      });
    });

    describe("readOutput", () => {
      it("goes on where it was", async () => {
        const { id } = await ending("echo one; echo two; echo oops >&2");
        const first = await processes.readOutput(id, { stream: "stdout", maxBytes: 5 });
        assert.deepEqual(first, { output: "one\nt", nextOffset: 5, status: "exited", exitCode: 0 });
        const rest = { output: "wo\n", nextOffset: 8, status: "exited", exitCode: 0 };
        const options = /** @type {const} */ ({ stream: "stdout", offset: 5 });
        assert.deepEqual(await processes.readOutput(id, options), rest);
        const end = await processes.readOutput(id, { stream: "stdout", offset: 8 });
        assert.deepEqual([end.output, end.nextOffset], ["", 8]);
        assert.equal(await text(id, { stream: "stderr" }), "oops\n");
        assert.equal(await text(id), "one\ntwo\noops\n");
        assert.equal(await text(id, { stream: "stdout", tailBytes: 4 }), "two\n");
        assert.equal(await text(id, { stream: "stdout", tailBytes: 0 }), "");
        assert.equal(await text(id, { tailBytes: 1000 }), "one\ntwo\noops\n");
      });

      it("splits no character", async () => {
        const whole = "aé€😀".repeat(4);
        const { id } = await ending(`printf %s '${whole}'; printf %s '${whole}' >&2`);
        for (const stream of /** @type {const} */ (["stdout", "both"])) {
          for (const maxBytes of [4, 6, 11]) {
            let offset = 0;
            let read = "";
            for (;;) {
              const piece = await processes.readOutput(id, { stream, offset, maxBytes });
              if (piece.output === "") break;
              const length = Buffer.byteLength(piece.output);
              assert.ok(length <= maxBytes && !piece.output.includes("\ufffd"), piece.output);
              assert.equal(piece.nextOffset, offset + length);
              offset = piece.nextOffset;
              read += piece.output;
            }
            assert.equal(read, stream === "both" ? whole + whole : whole);
          }
        }
        assert.equal(await text(id, { stream: "stdout", tailBytes: 6 }), "😀");
      });

      it("holds back a character that is not there yet, and gives what never comes", async () => {
        const [go, end] = [path(), path()];
        const { id } = await processes.spawn(
          `printf 'a\\342\\202'; until [ -e '${go}' ]; do sleep 0.02; done
          printf '\\254\\303'; until [ -e '${end}' ]; do sleep 0.02; done`,
        );
        const first = await processes.readOutput(id, { waitMs: LONG_MS });
        assert.deepEqual([first.output, first.nextOffset], ["a", 1]);
        writeFileSync(go, "");
        const second = await processes.readOutput(id, { offset: 1, waitMs: LONG_MS });
        assert.deepEqual([second.output, second.nextOffset], ["€", 4]);
        writeFileSync(end, "");
        await processes.wait(id);
        const last = await processes.readOutput(id, { offset: 4 });
        assert.deepEqual([last.output, last.nextOffset], ["\ufffd", 5]);
      });

      it("gives both streams in one order, the same for every reader", async () => {
        const script =
          "i=0; while [ $i -lt 40 ]; do i=$((i + 1)); echo o$i; echo é$i >&2; sleep 0.01; done";
        const { id } = await processes.spawn(script);
        /** @param {number} maxBytes */
        const follow = async (maxBytes) => {
          let offset = 0;
          let read = "";
          for (;;) {
            const piece = await processes.readOutput(id, { offset, maxBytes, waitMs: LONG_MS });
            offset = piece.nextOffset;
            read += piece.output;
            if (piece.status !== "running" && piece.output === "") return read;
          }
        };
        const [first = "", ...others] = await Promise.all([follow(1000), follow(64), follow(25)]);
        for (const other of [...others, await follow(1_000_000)]) assert.equal(other, first);
        const lines = first.trimEnd().split("\n");
        for (const [letter, stream] of /** @type {const} */ ([
          ["o", "stdout"],
          ["é", "stderr"],
        ])) {
          const expected = Array.from({ length: 40 }, (_, index) => `${letter}${index + 1}\n`);
          assert.equal(await text(id, { stream }), expected.join(""));
          const own = lines.filter((line) => line.includes(letter));
          assert.equal(own.length, 40);
        }
        assert.equal(Buffer.byteLength(first), (await processes.readOutput(id)).nextOffset);
      });

      it("chooses lines, and holds back the last one until it is finished", async () => {
        const [go, end] = [path(), path()];
        const { id } = await processes.spawn(
          `printf 'apple\\npear\\r\\nap'; until [ -e '${go}' ]; do sleep 0.02; done
          printf 'ricot\\nplu'; until [ -e '${end}' ]; do sleep 0.02; done`,
        );
        const filter = "^ap|r$";
        const first = await processes.readOutput(id, { filter, waitMs: LONG_MS });
        assert.deepEqual([first.output, first.nextOffset], ["apple\npear\r\n", 12]);
        const none = await processes.readOutput(id, { filter, offset: 12 });
        assert.deepEqual([none.output, none.nextOffset], ["", 12]);
        writeFileSync(go, "");
        const second = await processes.readOutput(id, { filter, offset: 12, waitMs: LONG_MS });
        assert.deepEqual([second.output, second.nextOffset], ["apricot\n", 20]);
        writeFileSync(end, "");
        await processes.wait(id);
        const third = await processes.readOutput(id, { filter, exclude: true, offset: 12 });
        assert.deepEqual([third.output, third.nextOffset], ["plu", 23]);
      });

      it("gets past a line that is longer than what may be read", async () => {
        const { id } = await processes.spawn("printf 'xxxxxxxxxxxxxxxxxxxx'; sleep 600");
        const options = { filter: "x", maxBytes: 8, waitMs: LONG_MS };
        const first = await processes.readOutput(id, options);
        assert.deepEqual([first.output, first.nextOffset], ["xxxxxxxx", 8]);
        const second = await processes.readOutput(id, { ...options, offset: 8 });
        assert.deepEqual([second.output, second.nextOffset], ["xxxxxxxx", 16]);
        assert.equal(await text(id, { filter: "x", maxBytes: 8, offset: 16 }), "");
        await processes.terminate(id);
        assert.equal(await text(id, { filter: "x", maxBytes: 8, offset: 16 }), "xxxx");
      });

      it("waits for output or the end, and no longer than it is told", async () => {
        const go = path();
        const { id } = await processes.spawn(`until [ -e '${go}' ]; do sleep 0.02; done; exit 6`);
        const begin = performance.now();
        assert.equal(await text(id, { waitMs: 200 }), "");
        assert.ok(performance.now() - begin >= 190);
        const waiting = processes.readOutput(id, { waitMs: LONG_MS });
        writeFileSync(go, "");
        const { status, exitCode } = await waiting;
        assert.deepEqual([status, exitCode], ["exited", 6]);
        assert.ok(performance.now() - begin < LONG_MS);
      });
    });

    describe("wait", () => {
      // A session runs one script at a time.
      const skip = alone && "one wait holds up the other";
      it("waits on the target, and is not asking all the time", { skip }, async () => {
        let calls = 0;
        const counting = background(
          { run: (script, opts) => ((calls += 1), runtime.run(script, opts)) },
          { baseDir },
        );
        const go = path();
        const { id } = await counting.spawn(`until [ -e '${go}' ]; do sleep 0.02; done; exit 4`);
        calls = 0;
        const waiting = counting.wait(id);
        const begin = performance.now();
        await counting.wait(id, { timeoutMs: 300 });
        assert.ok(performance.now() - begin >= 290);
        writeFileSync(go, "");
        assert.equal((await waiting).exitCode, 4);
        assert.equal(calls, 2);
      });

      it("resolves with the process as it is when the time is over", async () => {
        const { id } = await processes.spawn("sleep 600");
        const { status, exitCode } = await processes.wait(id, { timeoutMs: 100 });
        assert.deepEqual([status, exitCode], ["running", undefined]);
        assert.equal((await processes.get(id)).status, "running");
      });

      it("ends when it is aborted, and the process goes on", async () => {
        const { id } = await processes.spawn("sleep 600");
        const stop = new AbortController();
        const reason = new Error("enough");
        const waiting = processes.wait(id, { signal: stop.signal });
        stop.abort(reason);
        await assert.rejects(waiting, (error) => error === reason);
        await assert.rejects(
          processes.wait(id, { signal: stop.signal }),
          (error) => error === reason,
        );
        assert.equal((await processes.get(id)).status, "running");
      });
    });

    describe("terminate", () => {
      it("stops all that was started", async () => {
        const { id, pid } = await processes.spawn("sleep 600 & (sleep 600; :) & sleep 600");
        const { status, exitCode, exitedAt } = await processes.terminate(id);
        assert.deepEqual([status, exitCode, groupMembers(pid)], ["killed", 143, []]);
        assert.ok(exitedAt !== undefined);
      });

      it("kills what does not stop", async () => {
        const ready = path();
        const { id, pid } = await processes.spawn(
          `trap '' TERM; : >'${ready}'; while :; do sleep 0.05; done`,
        );
        await until(() => existsSync(ready));
        const begin = performance.now();
        const { status, exitCode } = await processes.terminate(id, { graceMs: 300 });
        assert.ok(performance.now() - begin >= 290);
        assert.deepEqual([status, exitCode, groupMembers(pid)], ["killed", 137, []]);
        assert.equal((await processes.get(id)).exitCode, 137);
      });

      it("lets a script clean up, and takes its code", async () => {
        const ready = path();
        const { id } = await processes.spawn(
          `trap 'echo bye; exit 3' TERM; : >'${ready}'; while :; do sleep 0.05; done`,
        );
        await until(() => existsSync(ready));
        const { status, exitCode } = await processes.terminate(id);
        const output = await text(id, { stream: "stdout" });
        assert.deepEqual([status, exitCode, output], ["exited", 3, "bye\n"]);
      });

      it("stops what is suspended", async () => {
        const { id, pid } = await processes.spawn("kill -STOP 0; sleep 600");
        const { status, exitCode } = await processes.terminate(id);
        assert.deepEqual([status, exitCode, groupMembers(pid)], ["killed", 143, []]);
      });

      it("may be called twice at once, and after the end", async () => {
        const ready = path();
        const { id } = await processes.spawn(
          `trap '' TERM; : >'${ready}'; while :; do sleep 0.05; done`,
        );
        await until(() => existsSync(ready));
        const both = await Promise.all([
          processes.terminate(id, { graceMs: 100 }),
          processes.terminate(id, { graceMs: 100 }),
        ]);
        both.push(await processes.terminate(id));
        assert.deepEqual(
          both.map(({ status, exitCode }) => [status, exitCode]),
          Array(3).fill(["killed", 137]),
        );
      });

      it("leaves no child that has another environment and ignores SIGTERM", async () => {
        const stubborn = `trap "" TERM; : >'${path()}'; while :; do sleep 0.05; done`;
        const ready = join(directory, `file ${count}`);
        const { id, pid } = await processes.spawn(
          `env -i PATH="$PATH" sh -c ${quoted(stubborn)} & wait`,
        );
        await until(() => existsSync(ready));
        await processes.terminate(id, { graceMs: 200 });
        assert.deepEqual(groupMembers(pid), []);
      });

      it("stops what outlived its script", async () => {
        const { id, pid } = await processes.spawn("sleep 600 & exit 3");
        assert.equal((await processes.wait(id)).exitCode, 3);
        await until(() => groupMembers(pid).length === 1);
        const { status, exitCode } = await processes.terminate(id);
        assert.deepEqual([status, exitCode, groupMembers(pid)], ["exited", 3, []]);
      });

      it("takes no stranger for the process whose number it has", async () => {
        const stranger = await processes.spawn("sleep 600");
        const { id, outputDir } = await processes.spawn("sleep 600");
        await processes.terminate(id);
        // As if the machine had been started anew, and the number given to another.
        const file = join(outputDir, "meta.json");
        const meta = readFileSync(file, "utf8");
        writeFileSync(file, meta.replace(/"pid":\d+/, `"pid":${stranger.pid}`));
        rmSync(join(outputDir, "exit_code"));
        rmSync(join(outputDir, "exited_at"));
        assert.equal((await processes.get(id)).status, "failed");
        assert.equal((await processes.terminate(id, { graceMs: 0 })).status, "failed");
        assert.equal((await processes.get(stranger.id)).status, "running");
      });
    });

    describe("remove", () => {
      it("removes what has ended, and nothing that runs", async () => {
        const { id, outputDir } = await processes.spawn("sleep 600");
        await assert.rejects(
          processes.remove(id),
          (error) => error instanceof BackgroundError && /terminate it first/.test(error.message),
        );
        await processes.terminate(id);
        assert.equal(await processes.remove(id), undefined);
        assert.equal(existsSync(outputDir), false);
        await assert.rejects(
          processes.get(id),
          (error) => error instanceof NotFoundError && error.id === id,
        );
      });
    });

    describe("run", () => {
      it("gives the true exit code and the output in order of arrival", async () => {
        assert.deepEqual(await processes.run("echo hello"), { output: "hello\n", exitCode: 0 });
        assert.deepEqual(await processes.run("echo a; echo b >&2; echo c; exit 42"), {
          output: "a\nb\nc\n",
          exitCode: 42,
        });
        const { exitCode, output } = await processes.run("nonexistent_command_xyz");
        assert.equal(exitCode, 127);
        assert.match(output, /nonexistent_command_xyz/);
      });

      it("keeps nothing of what it has handed over", async () => {
        const own = background(runtime, { baseDir, workspace: "run" });
        await own.run("echo hello");
        assert.deepEqual(await own.list(), []);
      });

      it("says that a command still runs, which goes on", async () => {
        const own = background(runtime, { baseDir, workspace: "patience" });
        const result = await own.run("echo begun; sleep 600", { waitTimeoutMs: 300 });
        assert.deepEqual([result.output, result.exitCode], ["begun\n", 1]);
        const [running] = await own.list();
        assert.equal(running?.status, "running");
        assert.match(result.failureReason ?? "", new RegExp(`after 300 ms.*${running?.id}`));
        await own.terminate(running?.id ?? "");
      });

      it("keeps no exit code where none is wanted", async () => {
        const wanted = { captureExitCode: false };
        assert.deepEqual(await processes.run("echo x; exit 3", wanted), {
          output: "x\n",
          exitCode: 0,
        });
        const { exitCode } = await processes.run("sleep 600", { ...wanted, waitTimeoutMs: 50 });
        assert.equal(exitCode, 1);
      });

      it("gives the first part of long output", async () => {
        const own = background(runtime, { baseDir, workspace: "head" });
        const { output } = await own.run("echo abé😀def", { maxOutputBytes: 7 });
        assert.equal(output, "abé");
        assert.equal((await own.run("echo abc", { maxOutputBytes: 0 })).output, "");
        // The rest is there to be read.
        assert.equal((await own.list()).length, 2);
        assert.equal((await own.run("echo abc", { maxOutputBytes: 4 })).output, "abc\n");
      });

      it("gives output that takes several reads", async () => {
        const { output } = await processes.run("seq 1 400000");
        assert.equal(output.length, 2_688_895);
        assert.ok(output.startsWith("1\n2\n") && output.endsWith("399999\n400000\n"));
      });

      it("leaves the output where it is", async () => {
        const own = background(runtime, { baseDir, workspace: "ignored" });
        const { output, exitCode } = await own.run("echo hello; exit 2", { ignoreOutput: true });
        const [process] = await own.list();
        assert.deepEqual(
          [output, exitCode],
          [`Output of 6 bytes is in ${process?.stdoutPath}.`, 2],
        );
      });

      it("puts the output into a file, and makes its directory", async () => {
        const outputFile = join(directory, "it's a", "new", "-file");
        const { output } = await processes.run("echo hello; echo oops >&2", { outputFile });
        assert.equal(output, "hello\noops\n");
        assert.equal(readFileSync(outputFile, "utf8"), "hello\noops\n");
        const note = await processes.run("echo hi", { outputFile, ignoreOutput: true });
        assert.equal(note.output, `Output of 3 bytes is in ${outputFile}.`);
        assert.equal(readFileSync(outputFile, "utf8"), "hi\n");
      });
    });

    it("says what is wrong with an argument", async () => {
      /** @type {[RegExp, () => Promise<unknown>][]} */
      const cases = [
        ...["../x", "", ".", "..", "a/b", "-x", "a b", "x\n"].map(
          (id) =>
            /** @type {[RegExp, () => Promise<unknown>]} */ ([/`id`/, () => processes.get(id)]),
        ),
        [/`id`/, () => processes.remove("../x")],
        [/`id`/, () => processes.terminate("../x")],
        [/`id`/, () => processes.wait("../x")],
        [/`id`/, () => processes.readOutput("../x")],
        [/`options.workspace`/, () => background(runtime, { workspace: "../x" }).list()],
        [/`options.baseDir`/, () => background(runtime, { baseDir: "" }).list()],
        [/`options.baseDir`/, () => background(runtime, { baseDir: "a\0b" }).list()],
        [/`runtime.run`/, () => background(/** @type {any} */ ({})).list()],
        [/`script`/, () => processes.spawn("a\0b")],
        [/`options.env`/, () => processes.spawn("true", { env: { "A-B": "" } })],
        [/`options.env.A`/, () => processes.spawn("true", { env: { A: "\0" } })],
        [/`options.cwd`/, () => processes.spawn("true", { cwd: "" })],
        [/`options.timeoutMs`/, () => processes.spawn("true", { timeoutMs: -1 })],
        [/`options.filter`.*\(/, () => processes.readOutput("x", { filter: "(" })],
        [/`options.exclude`/, () => processes.readOutput("x", { exclude: true })],
        [/`options.maxBytes`/, () => processes.readOutput("x", { maxBytes: 3 })],
        [/`options.tailBytes`/, () => processes.readOutput("x", { offset: 1, tailBytes: 1 })],
        [/`options.stream`/, () => processes.readOutput("x", { stream: /** @type {any} */ ("x") })],
        [/`command`/, () => processes.run("a\0b")],
      ];
      for (const [expected, call] of cases) {
        await assert.rejects(
          call,
          (error) => error instanceof InvalidArgumentError && expected.test(error.message),
          String(expected),
        );
      }
    });

    it("says that there is no process of an id", async () => {
      for (const call of [
        () => processes.get("none"),
        () => processes.wait("none"),
        () => processes.terminate("none"),
        () => processes.remove("none"),
        () => processes.readOutput("none"),
        () => background(runtime, { baseDir: join(directory, "nothing") }).get("none"),
      ]) {
        await assert.rejects(
          call,
          (error) => error instanceof NotFoundError && error.id === "none",
        );
      }
      assert.deepEqual(
        await background(runtime, { baseDir: join(directory, "nothing") }).list(),
        [],
      );
      assert.equal(existsSync(join(directory, "nothing")), false);
    });
  });
}
