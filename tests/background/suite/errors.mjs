// @ts-check
// Errors of the scripts of sh/, each on every shell. Most of them do not happen on this machine:
// there a test changes the script.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";

import { NotFoundError } from "sandpipe";

import { freePort } from "../../support/free-port.mjs";
import { until } from "../../support/processes.mjs";
import { fails, groupMembers } from "../../support/target.mjs";
import { timedBy } from "../timed-runtime.mjs";
import { LONG_MS } from "./subject.mjs";

/** @import { Runtime } from "sandpipe" */
/** @import { Tests } from "../../support/matrix.mjs" */
/** @import { Subject } from "./subject.mjs" */

const isRoot = process.getuid?.() === 0;

/** A command that prints a message and fails, in place of another one. */
const FAILS = "{ echo no room; false; }";

/** @param {Subject} subject @param {Tests} tests */
export function testErrors(subject, { shellContract }) {
  /**
   * Makes a runtime that changes a text in each script, outside of quotes.
   *
   * @param {string | RegExp} from
   * @param {string} to
   * @param {Runtime} [runtime]
   * @returns {Runtime}
   */
  const changing = (from, to, runtime = subject.runtime) => ({
    run: (script, options) =>
      runtime.run(
        script.replace(from, () => to),
        options,
      ),
  });

  describe("errors", () => {
    shellContract("a baseDir that can't be used is an error that says why", async () => {
      const [file, link, linked] = [subject.path(), subject.path(), subject.path()];
      writeFileSync(file, "");
      mkdirSync(linked);
      symlinkSync(linked, link);
      // The test reads messages of programs.
      const runtime = changing(/^/, "export LC_ALL=C; ");
      /** @param {string} baseDir */
      const spawn = (baseDir) => () => subject.background({ runtime, baseDir }).spawn("true");
      await fails(spawn(file), /not a directory/);
      await fails(spawn(join(file, "x")), /Not a directory/i);
      for (const baseDir of [link, `${link}/`]) {
        await fails(spawn(baseDir), /symbolic link/);
        await fails(() => subject.background({ baseDir }).list(), /symbolic link/);
      }
      await fails(spawn("/proc"), /proc/);
    });

    shellContract(
      "a directory of another user is refused",
      { skip: !isRoot && "only for root" },
      async () => {
        const [foreign, baseDir] = [subject.path(), subject.path()];
        mkdirSync(foreign);
        mkdirSync(join(baseDir, "default"), { recursive: true });
        execFileSync("chown", ["nobody", foreign, join(baseDir, "default")]);
        await fails(() => subject.background({ baseDir: foreign }).spawn("true"), /another user/);
        await fails(() => subject.background({ baseDir: foreign }).list(), /another user/);
        await fails(() => subject.background({ baseDir }).list(), /another user/);
      },
    );

    shellContract("a process that can't be started leaves nothing behind", async () => {
      const namespace = "unmade";
      const home = join(subject.baseDir, namespace);
      for (const [what, options] of /** @type {const} */ ([
        // spawn.sh
        ['mkdir -- "$dir"', {}],
        ['cat <&3 >"$dir/meta.rest"', {}],
        ['cat <&5 >"$dir/supervise"', {}],
        // supervise.sh
        ['mkfifo "$dir/leader" "$dir/watchdog"', { timeoutMs: LONG_MS }],
        ['mv "$dir" "$final"', {}],
      ])) {
        const own = subject.background({ runtime: changing(what, FAILS), namespace });
        await fails(() => own.spawn("true", options), /no room/);
        assert.deepEqual(readdirSync(home), [], what);
      }
      // These two write to a file, and to the pipe of the watchdog.
      for (const [what, instead, options] of /** @type {const} */ ([
        ['cat "$dir/meta.rest"', "{ echo no room >&2; false; }", {}],
        ["pid=$1 dir=$2\nmust_lead", "echo no room; exit 1", { timeoutMs: LONG_MS }],
      ])) {
        const own = subject.background({ runtime: changing(what, instead), namespace });
        await fails(() => own.spawn("true", options), /no room/);
        assert.deepEqual(readdirSync(home), [], what);
      }
      const own = subject.background({ namespace });
      await fails(() => own.run("true", { outputFile: "/dev/null/x" }), /\/dev\/null/);
      assert.deepEqual(readdirSync(home), []);
    });

    shellContract("an id that is taken is refused, and its directory stays", async () => {
      const namespace = "taken";
      let taken = "";
      const runtime = /** @type {Runtime} */ ({
        run: (script, options) => {
          const [, id = ""] = /^id='\\''([^']+)'\\''$/m.exec(script) ?? [];
          taken = join(subject.baseDir, namespace, id);
          mkdirSync(taken, { recursive: true, mode: 0o700 });
          return subject.runtime.run(script, options);
        },
      });
      const own = subject.background({ runtime, namespace });
      await fails(() => own.spawn("true"), /is there already/);
      assert.deepEqual(readdirSync(join(subject.baseDir, namespace)), [taken.split("/").at(-1)]);
    });

    shellContract("a process that is removed during a call is not found", async () => {
      /** @type {[string, (processes: import("sandpipe").Background, id: string) => Promise<unknown>][]} */
      const cases = [
        ["section meta\n", (processes, id) => processes.get(id)],
        ["section meta\n", (processes, id) => processes.wait(id)],
        ["section meta\n", (processes, id) => processes.terminate(id)],
        ["section window\n", (processes, id) => processes.readOutput(id)],
        ["section window\n", (processes, id) => processes.readOutput(id, { stream: "stdout" })],
      ];
      for (const [before, call] of cases) {
        const { id } = await subject.ending("echo hello");
        const runtime = changing(before, `rm -rf "$dir"; ${before}`);
        await assert.rejects(
          call(subject.background({ runtime }), id),
          (error) => error instanceof NotFoundError && error.id === id,
        );
      }
      const namespace = "emptied";
      const own = subject.background({ namespace });
      const { id } = await own.spawn("true");
      const runtime = changing("section metas\n", 'rm -rf "$home"/*; section metas\n');
      await own.wait(id);
      assert.deepEqual(await subject.background({ runtime, namespace }).list(), []);
    });

    shellContract(
      "a shell that ends without an answer is an error with its exit code",
      async () => {
        await subject.ending("true");
        const list = subject.background({ runtime: changing('cd -- "$home"', "false") }).list();
        await fails(() => list, /exit code 1 before it had answered/);
      },
    );

    shellContract("streams whose order can't be written can be read one by one", async () => {
      const { id, outputDir } = await subject.processes.spawn("echo begun; sleep 600");
      const stdout = { stream: /** @type {const} */ ("stdout") };
      assert.equal(await subject.text(id, { ...stdout, waitMs: LONG_MS }), "begun\n");
      mkdirSync(join(outputDir, "order"));
      await fails(() => subject.text(id), /order can.t be written.*one by one/);
      assert.equal(await subject.text(id, stdout), "begun\n");
      // From now on no other reader can come to another order.
      await subject.processes.terminate(id);
      assert.equal(await subject.text(id), "begun\n");
    });

    shellContract("a process that can't be removed stays", async () => {
      const { id } = await subject.ending("exit 3");
      const runtime = changing('mv -- "$1" "$gone"', FAILS);
      await fails(() => subject.background({ runtime }).remove(id), /no room/);
      assert.equal((await subject.processes.get(id)).exitCode, 3);
      await subject.processes.remove(id);
    });

    shellContract("a process that survives SIGKILL is an error", async () => {
      const { id, pid } = await subject.processes.spawn("trap '' TERM; sleep 600");
      const without = changing('kill -KILL "-$pid"', ":", changing("-lt 10000", "-lt 100"));
      const terminating = subject.background({ runtime: without }).terminate(id, { graceMs: 0 });
      await fails(() => terminating, /still there after SIGKILL/);
      assert.equal((await subject.processes.terminate(id, { graceMs: 0 })).status, "killed");
      assert.deepEqual(groupMembers(pid), []);
    });

    shellContract("an exit code that was never written down is an error", async () => {
      const namespace = "lost";
      const own = subject.background({ namespace });
      const directory = `"${subject.baseDir}/${namespace}/$SANDPIPE_PROCESS"`;
      await fails(() => own.run(`rm ${directory}/exit_code.new`), /left no exit code/);
      const [lost] = await own.list();
      assert.deepEqual([lost?.status, lost?.exitCode], ["failed", undefined]);
      await own.remove(lost?.id ?? "");
      // A command without an exit code has to end by itself.
      const none = { captureExitCode: false };
      await fails(() => own.run("kill -KILL $PPID", none), /left no exit code/);
      await fails(() => own.run(`rm ${directory}/exited_at.new`, none), /left no exit code/);
      for (const { id } of await own.list()) await own.remove(id);
    });

    shellContract("a wait that is longer than one script may wait takes several", async () => {
      const go = subject.path();
      const port = await freePort();
      const { id } = await subject.processes.spawn(
        `until [ -e '${go}' ]; do sleep 0.02; done; echo over; exit 6`,
      );
      let asked = 0;
      /** @returns {Runtime} */
      const impatient = () => {
        const first = changing(/^wait=\d+$/m, "wait=0");
        let calls = 0;
        return {
          run: (script, options) => {
            calls += 1;
            if (calls === 2) asked += 1;
            return (calls === 1 ? first : subject.runtime).run(script, options);
          },
        };
      };
      const own = () => subject.background({ runtime: impatient() });
      const ends = own().wait(id);
      const output = own().readOutput(id, { waitMs: LONG_MS });
      const listens = assert.rejects(own().waitForPort(id, port), { code: "not_ready" });
      await until(() => asked === 3);
      writeFileSync(go, "");
      assert.equal((await ends).exitCode, 6);
      assert.equal((await output).output, "over\n");
      await listens;
    });

    shellContract("a target without /proc/net/tcp can't wait for a port", async () => {
      const { id } = await subject.processes.spawn("sleep 600");
      const runtime = changing(/\/proc\/net\/tcp/g, "/no proc/net/tcp");
      const waiting = subject.background({ runtime }).waitForPort(id, await freePort());
      await fails(() => waiting, /which ports are listened on is not known/);
      await subject.processes.terminate(id);
    });

    shellContract("a process that ignores SIGTERM is killed after its timeout", async () => {
      const [ready, isOver] = [subject.path(), subject.path()];
      const brief = changing(/^grace=\d+$/m, "grace=50", timedBy(subject.runtime, isOver));
      const own = subject.background({ runtime: brief });
      const script = `trap '' TERM; : >'${ready}'; while :; do sleep 0.05; done`;
      const { id, pid } = await own.spawn(script, { timeoutMs: LONG_MS });
      await until(() => existsSync(ready));
      writeFileSync(isOver, "");
      const { status, exitCode } = await subject.processes.wait(id);
      assert.deepEqual([status, exitCode], ["killed", 124]);
      await until(() => groupMembers(pid).length === 0);
    });
  });
}
