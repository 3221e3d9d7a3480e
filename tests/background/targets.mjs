// @ts-check
// Tests of targets that differ from this machine, for each shell.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import * as sandpipe from "sandpipe";
import { localRuntime } from "sandpipe/node";

import { until } from "../support/processes.mjs";
import { directoryOfTests, fails, groupMembers } from "../support/target.mjs";
import { inTime } from "./in-time.mjs";
import { shellOf } from "./shells.mjs";
import { endless } from "./waiting-scripts.mjs";

/** @import { BackgroundOptions, Runtime } from "sandpipe" */
/** @import { ShellName } from "./shells.mjs" */

const isRoot = process.getuid?.() === 0;

/** @param {Runtime} runtime @param {BackgroundOptions} options */
const background = (runtime, options) => inTime(sandpipe.background(runtime, options));

/**
 * Defines the tests for targets with a shell.
 *
 * @param {ShellName} name
 */
export function testTargets(name) {
  describe(`background processes on a target with ${name}`, () => {
    const { directory, subdirectory } = directoryOfTests();
    /** A shell that finds all programs. */
    const shell = shellOf(name, subdirectory("complete"));
    const complete = localRuntime({ shell });

    it("keep their exit code when a signal to the group comes while it is written", async () => {
      const place = subdirectory("late signals");
      /** @type {Record<string, string>} */
      const programs = {};
      for (const program of ["mv", "date"]) {
        const path = join(place, `${program} that sends signals`);
        const signals = 'case "$*" in *exit_code | -u*) kill -TERM 0; kill -INT 0 ;; esac';
        writeFileSync(
          path,
          `#!/bin/sh\n[ ! -e '${place}/late' ] || ${signals}\nexec /bin/${program} "$@"\n`,
        );
        chmodSync(path, 0o755);
        programs[program] = path;
      }
      const runtime = localRuntime({ shell: shellOf(name, place, { programs }) });
      const processes = background(runtime, { baseDir: join(place, "state") });
      const { id } = await processes.spawn(`true >'${place}/late'; exit 7`);
      const { status, exitCode } = await processes.wait(id);
      assert.deepEqual({ status, exitCode }, { status: "exited", exitCode: 7 });
    });

    it("are removed as soon as their end is known, when what leads them has yet to go", async () => {
      const place = subdirectory("late to go");
      const baseDir = join(place, "state");
      const [made, looked] = [join(place, "made"), join(place, "looked")];
      mkdirSync(made);
      mkdirSync(join(place, "remover"));
      // With it the exit code gets its name; the shell that leads goes when it has ended.
      const mv = join(made, "slow mv");
      writeFileSync(
        mv,
        `#!/bin/sh
        /bin/mv "$@" || exit
        case "$*" in *exit_code) ;; *) exit ;; esac
        while [ -d '${place}' ] && [ ! -e '${looked}' ]; do sleep 0.02; done\n`,
        { mode: 0o755 },
      );
      const maker = localRuntime({ shell: shellOf(name, made, { programs: { mv } }) });
      const { id } = await background(maker, { baseDir }).spawn("exit 7");
      assert.equal((await background(complete, { baseDir }).wait(id)).exitCode, 7);
      // Who removes it pauses: it goes only then.
      const pauses = (/** @type {string} */ script) =>
        script.replace('sleep "$nap"', () => `: >"${looked}"; sleep "$nap"`);
      const remover = /** @type {Runtime} */ ({
        run: (script, options) => complete.run(pauses(script), options),
      });
      await background(remover, { baseDir }).remove(id);
      assert.deepEqual(await background(complete, { baseDir }).list(), []);
    });

    it("have no words of the target's tools in their output", async () => {
      const place = subdirectory("noisy");
      const noisy = ["tail", "head", "od", "wc", "awk", "cat"];
      const noise = localRuntime({ shell: shellOf(name, place, { without: noisy }) });
      for (const program of noisy) {
        const script = `#!/bin/sh\necho "${program}: so it is" >&2\nexec /usr/bin/${program} "$@"\n`;
        writeFileSync(join(place, program), script, { mode: 0o755 });
      }
      const baseDir = join(directory, "quiet");
      const processes = background(noise, { baseDir });
      const { id } = await background(complete, { baseDir }).spawn("echo out; echo err >&2");
      await processes.wait(id);
      for (const options of [{}, { tailBytes: 100 }, { filter: "" }, { maxBytes: 100 }]) {
        assert.equal((await processes.readOutput(id, options)).output, "out\nerr\n");
      }
      const [listed] = await processes.list();
      assert.deepEqual(listed, await background(complete, { baseDir }).get(id));
    });

    it("are gone, and not empty, for who reads while they are removed", async () => {
      for (const program of ["wc", "tail"]) {
        const place = subdirectory(`removing ${program}`);
        const baseDir = join(place, "base");
        const { id, outputDir } = await background(complete, { baseDir }).spawn("echo hello");
        await background(complete, { baseDir }).wait(id);
        const removing = localRuntime({ shell: shellOf(name, place, { without: [program] }) });
        const script = `#!/bin/sh\nrm -rf '${outputDir}'\nexec /usr/bin/${program} "$@"\n`;
        writeFileSync(join(place, program), script, { mode: 0o755 });
        for (const stream of /** @type {const} */ (["stdout", "both"])) {
          await assert.rejects(
            background(removing, { baseDir }).readOutput(id, { stream }),
            (error) => error instanceof sandpipe.NotFoundError && error.id === id,
          );
        }
      }
    });

    it("leave nothing behind when they are stopped while they are made", async () => {
      const baseDir = join(directory, "stopped");
      const home = join(baseDir, "default");
      const processes = background(complete, { baseDir });
      await processes.run("true");
      const place = subdirectory("no start");
      const started = join(directory, "started");
      const setsid = join(place, "setsid");
      writeFileSync(setsid, `#!/bin/sh\n[ "$1" = true ] && exit\n: >'${started}'\nsleep 600\n`);
      chmodSync(setsid, 0o755);
      const starting = shellOf(name, place, { without: ["setsid"] });
      for (const signal of /** @type {const} */ (["SIGTERM", "SIGKILL"])) {
        const making = background(
          {
            async run(script) {
              const maker = spawn(starting, ["-c", script], { detached: true, stdio: "ignore" });
              const ended = once(maker, "exit");
              await until(() => existsSync(started));
              rmSync(started);
              assert.equal(readdirSync(home).length, 1);
              process.kill(-(maker.pid ?? 0), signal);
              await ended;
              return { exitCode: 1, output: "" };
            },
          },
          { baseDir },
        );
        await fails(() => making.spawn("true"), /before it had answered/);
        assert.deepEqual(await processes.list(), []);
        assert.equal(readdirSync(home).length, signal === "SIGTERM" ? 0 : 1);
      }
      // The next that is started tidies up, but for those that others are making.
      const other = `.new.x.${process.pid}`;
      mkdirSync(join(home, other));
      mkdirSync(join(home, ".gone.1.x"));
      const { id } = await processes.spawn("true");
      assert.deepEqual(readdirSync(home).sort(), [other, id]);
    });

    it("end their waiting scripts when the reader is gone", async () => {
      const baseDir = join(directory, "gone reader");
      const processes = background(complete, { baseDir });
      const { id } = await processes.spawn("sleep 600");
      for (const ignored of ["", "trap '' PIPE; "]) {
        /** @type {NodeJS.Signals | number | null | undefined} */
        let end;
        const gone = background(
          {
            async run(script) {
              const reader = spawn(shell, ["-c", ignored + endless(script)], { stdio: "pipe" });
              // The end of the pipe that is read.
              reader.stdout.destroy();
              const [code, signal] = await once(reader, "exit");
              end = signal ?? code;
              return { exitCode: 1, output: "" };
            },
          },
          { baseDir },
        );
        await fails(() => gone.wait(id), /before it had answered/);
        assert.notEqual(end, 0);
      }
      await processes.terminate(id);
    });

    it("end at once when they are terminated before their script has begun", async () => {
      const slow = /** @type {Runtime} */ ({
        run: (script, opts) =>
          complete.run(script.replace("\nrun_script\n", "\nsleep 600\nrun_script\n"), opts),
      });
      const processes = background(slow, { baseDir: join(directory, "slow") });
      const { id } = await processes.spawn("echo begun; sleep 600");
      const { status, exitCode } = await processes.terminate(id, { graceMs: 60_000 });
      assert.deepEqual([status, exitCode], ["killed", 143]);
      assert.equal((await processes.readOutput(id)).output, "");
    });

    it("are not disturbed by what the runtime's shell has set", async () => {
      const odd = /** @type {Runtime} */ ({
        run: (script, opts) =>
          complete.run(
            `set -efuC; export SHELLOPTS; IFS=abcdef; CDPATH=/usr; cat() { echo no; }
            trap 'echo trapped' EXIT; command() { "$@"; }; ${script}`,
            opts,
          ),
      });
      const processes = background(odd, { baseDir: join(directory, "odd") });
      assert.deepEqual(await processes.run("echo a b"), { output: "a b\n", exitCode: 0 });
      const { id } = await processes.spawn("sleep 600", { timeoutMs: 100 });
      assert.equal((await processes.wait(id)).exitCode, 124);
      assert.equal((await processes.terminate(id)).exitCode, 124);
      assert.deepEqual(
        (await processes.list()).map((process) => process.id),
        [id],
      );
      await processes.remove(id);
    });

    it("need no sleep that knows fractions of a second", async (t) => {
      const isBuiltin = execFileSync(shell, ["-c", "type sleep"], { encoding: "utf8" });
      if (/builtin/.test(isBuiltin)) return void t.skip("it has a sleep of its own");
      const place = subdirectory("old sleep");
      const [sleep, asked] = [join(place, "an old sleep"), join(place, "asked")];
      writeFileSync(
        sleep,
        `#!/bin/sh\ncase $1 in *.*) exit 1 ;; esac\necho "$1" >>'${asked}'\nexec /bin/sleep "$1"\n`,
        { mode: 0o755 },
      );
      const runtime = localRuntime({ shell: shellOf(name, place, { programs: { sleep } }) });
      const processes = background(runtime, { baseDir: join(directory, "e") });
      const idle = await processes.spawn("sleep 600");
      assert.equal((await processes.readOutput(idle.id, { waitMs: 500 })).output, "");
      await processes.terminate(idle.id);
      const { id, pid } = await processes.spawn("sleep 600", { timeoutMs: 1700 });
      const { status, exitCode } = await processes.wait(id);
      assert.deepEqual([status, exitCode], ["killed", 124]);
      // It has had all of its time, rounded up; whoever else waits does so for one second.
      assert.ok(readFileSync(asked, "utf8").split("\n").includes("2"));
      await until(() => groupMembers(pid).length === 0);
    });

    it("do not know ~ where there is no home", async () => {
      const homeless = /** @type {Runtime} */ ({
        run: (script, opts) => complete.run(`unset HOME; ${script}`, opts),
      });
      await fails(() => background(homeless, { baseDir: "~/x" }).list(), /HOME.*is not set/);
    });

    it(
      "survive a disk that they have filled, and say when there is no room",
      { skip: !isRoot && "only for root" },
      async () => {
        const disk = subdirectory("disk");
        execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", disk]);
        try {
          const baseDir = join(disk, "base");
          const processes = background(complete, { baseDir });
          const running = await processes.spawn("echo begun; sleep 600");
          const { id } = await processes.spawn("echo begun; cat /dev/zero; exit 6");
          const { status, exitCode } = await processes.wait(id);
          // The last bit of it.
          const rest = join(disk, "rest");
          assert.throws(() => writeFileSync(rest, Buffer.alloc(256 * 1024)), { code: "ENOSPC" });
          assert.deepEqual([status, exitCode], ["exited", 6]);
          const { output } = await processes.readOutput(id, { stream: "stdout", maxBytes: 6 });
          assert.equal(output, "begun\n");
          assert.equal((await processes.readOutput(id, { maxBytes: 6 })).output, "begun\n");
          // The test reads messages of programs.
          const english = /** @type {Runtime} */ ({
            run: (script, options) => complete.run(`export LC_ALL=C; ${script}`, options),
          });
          const another = background(english, { baseDir });
          await fails(() => another.spawn("true"), /No space left/);
          assert.equal((await processes.list()).length, 2);

          await fails(() => processes.readOutput(running.id), /order can.t be written.*one by one/);
          const stdout = await processes.readOutput(running.id, { stream: "stdout" });
          assert.equal(stdout.output, "begun\n");
          assert.equal((await processes.terminate(running.id)).exitCode, 143);
          assert.equal((await processes.readOutput(running.id)).output, "begun\n");
          await processes.remove(id);
          assert.equal((await processes.run("echo room")).output, "room\n");
        } finally {
          execFileSync("umount", ["--lazy", disk]);
        }
      },
    );
  });
}
