// @ts-check
// Targets that lack something.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { background } from "sandpipe";
import { localRuntime } from "sandpipe/node";

import { processesThat, until } from "../support/processes.mjs";
import {
  fails,
  groupMembers,
  offspring,
  programsWithout,
  shellWith,
  directoryOfTests,
} from "../support/target.mjs";

/** @import { Runtime } from "sandpipe" */

describe("background processes", () => {
  const { directory, subdirectory } = directoryOfTests();
  const local = localRuntime();
  const isRoot = process.getuid?.() === 0;

  it("keep their exit code when a signal to the group comes while it is written", async () => {
    for (const shell of ["dash", "bash"]) {
      const place = subdirectory(`late signals to ${shell}`);
      const programs = programsWithout(["mv", "date"]);
      for (const name of ["mv", "date"]) {
        const path = join(place, `${name} that sends signals`);
        const signals = 'case "$*" in *exit_code | -u*) kill -TERM 0; kill -INT 0 ;; esac';
        writeFileSync(
          path,
          `#!/bin/sh\n[ ! -e '${place}/late' ] || ${signals}\nexec /bin/${name} "$@"\n`,
        );
        chmodSync(path, 0o755);
        programs[name] = path;
      }
      const runtime = localRuntime({ shell: shellWith(place, programs, shell) });
      const processes = background(runtime, { baseDir: join(place, "state") });
      const { id } = await processes.spawn(`true >'${place}/late'; exit 7`);
      const { status, exitCode } = await processes.wait(id);
      assert.deepEqual({ status, exitCode }, { status: "exited", exitCode: 7 }, shell);
    }
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
    const shell = shellWith(made, { ...programsWithout(["mv"]), mv }, "dash");
    const { id } = await background(localRuntime({ shell }), { baseDir }).spawn("exit 7");
    assert.equal((await background(local, { baseDir }).wait(id)).exitCode, 7);
    // Who removes it pauses: it goes only then.
    const sleep = join(place, "remover", "telling sleep");
    writeFileSync(sleep, `#!/bin/sh\n: >'${looked}'\nexec /bin/sleep "$@"\n`, { mode: 0o755 });
    const programs = { ...programsWithout(["sleep"]), sleep };
    const remover = shellWith(join(place, "remover"), programs, "dash");
    await background(localRuntime({ shell: remover }), { baseDir }).remove(id);
    assert.deepEqual(await background(local, { baseDir }).list(), []);
  });

  it("have no words of the target's tools in their output", async () => {
    const place = subdirectory("noisy");
    const noisy = ["tail", "head", "od", "wc", "awk", "cat"];
    const shell = shellWith(place, programsWithout(noisy), "dash");
    for (const name of noisy) {
      const script = `#!/bin/sh\necho "${name}: so it is" >&2\nexec /usr/bin/${name} "$@"\n`;
      writeFileSync(join(place, name), script, { mode: 0o755 });
    }
    const baseDir = join(directory, "quiet");
    const processes = background(localRuntime({ shell }), { baseDir });
    const { id } = await background(local, { baseDir }).spawn("echo out; echo err >&2");
    await processes.wait(id);
    for (const options of [{}, { tailBytes: 100 }, { filter: "" }, { maxBytes: 100 }]) {
      assert.equal((await processes.readOutput(id, options)).output, "out\nerr\n");
    }
    const [listed] = await processes.list();
    assert.deepEqual(listed, await background(local, { baseDir }).get(id));
  });

  it("have no exit code that nobody wrote down", async () => {
    const baseDir = join(directory, "lost");
    const own = `"${baseDir}/default/$SANDPIPE_PROCESS"`;
    for (const shell of ["dash", "bash"]) {
      const processes = background(localRuntime({ shell }), { baseDir });
      await fails(() => processes.run(`rm ${own}/exit_code.new`), /left no exit code/);
      const [lost] = await processes.list();
      assert.deepEqual([lost?.status, lost?.exitCode], ["failed", undefined]);
      await processes.remove(lost?.id ?? "");
      // What wants none is to have ended by itself.
      const none = { captureExitCode: false };
      await fails(() => processes.run("kill -KILL $PPID", none), /left no exit code/);
      await fails(() => processes.run(`rm ${own}/exited_at.new`, none), /left no exit code/);
      for (const { id } of await processes.list()) await processes.remove(id);
    }
  });

  it("fail with a reason where baseDir can't be had", async () => {
    const file = join(directory, "file");
    writeFileSync(file, "");
    const link = join(directory, "link");
    symlinkSync(subdirectory("linked"), link);
    const script = "true";
    await fails(() => background(local, { baseDir: file }).spawn(script), /not a directory/);
    await fails(
      () => background(local, { baseDir: join(file, "x") }).spawn(script),
      /Not a directory/i,
    );
    for (const baseDir of [link, `${link}/`]) {
      await fails(() => background(local, { baseDir }).spawn(script), /symbolic link/);
      await fails(() => background(local, { baseDir }).list(), /symbolic link/);
    }
    await fails(() => background(local, { baseDir: "/proc" }).spawn(script), /proc/);
  });

  it("trust no directory of another user", { skip: !isRoot }, async () => {
    const foreign = subdirectory("foreign");
    execFileSync("chown", ["nobody", foreign]);
    await fails(() => background(local, { baseDir: foreign }).spawn("true"), /another user/);
    await fails(() => background(local, { baseDir: foreign }).list(), /another user/);
    const baseDir = subdirectory("own");
    execFileSync("chown", ["nobody", subdirectory("own/default")]);
    await fails(() => background(local, { baseDir }).list(), /another user/);
  });

  it("are for their owner's eyes alone", async () => {
    const baseDir = join(directory, "private", "base");
    const processes = background(local, { baseDir });
    const { id, outputDir } = await processes.spawn("umask");
    await processes.wait(id);
    const modes = execFileSync("stat", ["-c", "%a", baseDir, outputDir], { encoding: "utf8" });
    assert.equal(modes, "700\n700\n");
    // Not so what they make.
    const { output } = await local.run("umask");
    assert.equal((await processes.readOutput(id)).output, output);
    // The script that leads it had the environment in it.
    assert.equal(existsSync(join(outputDir, "supervise")), false);
  });

  it(
    "survive a disk that they have filled, and say when there is no room",
    { skip: !isRoot },
    async () => {
      const disk = subdirectory("disk");
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", disk]);
      try {
        const processes = background(local, { baseDir: join(disk, "base") });
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
        await fails(() => processes.spawn("true"), /No space left/);
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

  it("need no setsid where the shell has job control", async () => {
    const shell = shellWith(subdirectory("no setsid"), programsWithout(["setsid"]), "bash");
    const processes = background(localRuntime({ shell }), { baseDir: join(directory, "a") });
    await startsAndStops(processes);
  });

  it("borrow bash for it where they find one", async () => {
    const shell = shellWith(subdirectory("bash"), programsWithout(["setsid"]), "dash");
    const processes = background(localRuntime({ shell }), { baseDir: join(directory, "b") });
    await startsAndStops(processes);
  });

  it("say that there is no process group to be had", async () => {
    const programs = programsWithout(["setsid", "bash", "rbash"]);
    const shell = shellWith(subdirectory("neither"), programs, "dash");
    const processes = background(localRuntime({ shell }), { baseDir: join(directory, "c") });
    await fails(() => processes.spawn("true"), /neither setsid nor a shell with job control/);
    assert.deepEqual(await processes.list(), []);
  });

  it("need no /proc", async () => {
    // What ps tells comes from there, so it can't be taken away altogether.
    const hidden = /** @type {Runtime} */ ({
      run: (script, opts) => local.run(script.replaceAll("/proc/", "/no proc/"), opts),
    });
    const processes = background(hidden, { baseDir: join(directory, "d") });
    await startsAndStops(processes);
    const { id, pid } = await processes.spawn("trap '' TERM; sleep 600", { timeoutMs: 100 });
    await processes.terminate(id, { graceMs: 0 });
    assert.deepEqual(groupMembers(pid), []);
  });

  it("need no sleep that knows fractions of a second", async () => {
    const place = subdirectory("old sleep");
    const programs = programsWithout(["sleep"]);
    const sleep = join(place, "sleep");
    const asked = join(place, "asked");
    writeFileSync(
      sleep,
      `#!/bin/sh\ncase $1 in *.*) exit 1 ;; esac\necho "$1" >>'${asked}'\nexec /bin/sleep "$1"\n`,
    );
    chmodSync(sleep, 0o755);
    const shell = shellWith(place, programs, "dash");
    const processes = background(localRuntime({ shell }), { baseDir: join(directory, "e") });
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

  it("have failed when nothing is left of them", async () => {
    const processes = background(local, { baseDir: join(directory, "killed") });
    const { id, pid } = await processes.spawn("echo begun; sleep 600");
    await processes.readOutput(id, { waitMs: 30_000 });
    process.kill(-pid, "SIGKILL");
    await until(() => groupMembers(pid).length === 0);
    const { status, exitCode } = await processes.wait(id);
    assert.deepEqual([status, exitCode], ["failed", undefined]);
    assert.equal((await processes.readOutput(id)).output, "begun\n");
    assert.equal((await processes.terminate(id)).status, "failed");

    const running = processes.run("echo $PPID; sleep 600");
    await until(async () => (await processes.list()).length === 2);
    const { pid: leader } =
      (await processes.list()).find(({ status }) => status === "running") ?? {};
    process.kill(-(leader ?? 0), "SIGKILL");
    await fails(() => running, /left no exit code/);
  });

  it("end at once when they are terminated before their script has begun", async () => {
    for (const shell of ["dash", "bash"]) {
      const plain = localRuntime({ shell });
      const slow = /** @type {Runtime} */ ({
        run: (script, opts) =>
          plain.run(script.replace("\nrun_script\n", "\nsleep 600\nrun_script\n"), opts),
      });
      const processes = background(slow, { baseDir: join(directory, "slow") });
      const { id } = await processes.spawn("echo begun; sleep 600");
      const { status, exitCode } = await processes.terminate(id, { graceMs: 60_000 });
      assert.deepEqual([status, exitCode], ["killed", 143]);
      assert.equal((await processes.readOutput(id)).output, "");
    }
  });

  it("hear an answer amid noise", async () => {
    const noisy = /** @type {Runtime} */ ({
      async run(script, opts) {
        const { exitCode, output } = await local.run(`set -v; ${script}`, opts);
        return { exitCode, output: `Welcome!\r\n${script}${output}Goodbye.` };
      },
    });
    const processes = background(noisy, { baseDir: join(directory, "noise") });
    const { output, exitCode } = await processes.run("printf 'no end'; exit 3");
    assert.deepEqual([output, exitCode], ["no end", 3]);
  });

  it("are not disturbed by what the runtime's shell has set", async () => {
    for (const shell of ["dash", "bash"]) {
      const plain = localRuntime({ shell });
      const odd = /** @type {Runtime} */ ({
        run: (script, opts) =>
          plain.run(
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
    }
  });

  it("hold nothing open of what the runtime's shell has open", async () => {
    const log = join(directory, "open");
    const holding = /** @type {Runtime} */ ({
      run: (script, opts) => local.run(`exec 3>'${log}' 5>&3 9>&3; ${script}`, opts),
    });
    const processes = background(holding, { baseDir: join(directory, "held") });
    const { id } = await processes.spawn("sleep 600", { timeoutMs: 600_000 });
    // The last that the shell which leads it and the watchdog start is a long sleep of each.
    const sleeps = (/** @type {string} */ member) =>
      /^sleep\x00600/.test(readFileSync(`/proc/${member}/cmdline`, "utf8"));
    await until(() => {
      const members = offspring(id);
      return processesThat((one) => members.includes(one) && sleeps(one)).length === 2;
    });
    // From then on they stay as they are.
    const members = offspring(id);
    assert.ok(members.length >= 5, members.join());
    for (const member of members) {
      const open = readdirSync(`/proc/${member}/fd`).map((fd) =>
        readlinkSync(`/proc/${member}/fd/${fd}`),
      );
      assert.ok(!open.includes(log), open.join());
    }
    await processes.terminate(id);
  });

  it("tell what a shell said that did not answer", async () => {
    /** @param {unknown} result */
    const answering = (result) =>
      background({ run: () => Promise.resolve(/** @type {any} */ (result)) });
    await fails(
      () => answering({ exitCode: 127, output: "sh: not found" }).list(),
      /exit code 127 before it had answered: sh: not found/,
    );
    await fails(() => answering({ exitCode: 0 }).list(), /something else than/);
    await fails(() => answering(undefined).list(), /something else than/);
    const broken = new Error("connection lost");
    await assert.rejects(
      background({ run: () => Promise.reject(broken) }).list(),
      (error) => error === broken,
    );
  });

  it("do not know ~ where there is no home", async () => {
    const homeless = /** @type {Runtime} */ ({
      run: (script, opts) => local.run(`unset HOME; ${script}`, opts),
    });
    await fails(() => background(homeless, { baseDir: "~/x" }).list(), /HOME.*is not set/);
  });

  /** @param {import("sandpipe").Background} processes */
  async function startsAndStops(processes) {
    assert.deepEqual(await processes.run("kill -INT $$"), { output: "", exitCode: 130 });
    const { id, pid } = await processes.spawn("sleep 600 & sleep 600");
    assert.equal((await processes.get(id)).status, "running");
    const { status, exitCode } = await processes.terminate(id);
    assert.deepEqual([status, exitCode, groupMembers(pid)], ["killed", 143, []]);
    const suspended = await processes.spawn("kill -STOP 0; sleep 600", { timeoutMs: 100 });
    assert.equal((await processes.wait(suspended.id)).exitCode, 124);
    await until(() => offspring(suspended.id).length === 0);
  }
});
