// @ts-check
// This machine as a runtime, where things go wrong.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { getEventListeners, once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { InvalidArgumentError, OutputLimitError } from "sandpipe";
import { localRuntime } from "sandpipe/node";

import { dist } from "../../scripts/project.mjs";
import { marked, marker, until } from "../support/processes.mjs";
import { interruptedBy } from "../support/interrupted.mjs";

/** A user who may signal none of root's processes: `nobody`. */
const NOBODY = 65_534;

const isRoot = process.getuid?.() === 0;

const runsAsNobody = () =>
  spawnSync(process.execPath, ["--version"], { uid: NOBODY, gid: NOBODY, cwd: "/" }).status === 0;

/** Why nothing is run as that user; false where it can be. */
const noNobody = isRoot
  ? !runsAsNobody() && "another user can't run this Node.js"
  : "only root can run something as another user";

/** @type {string} */
let directory;
before(() => {
  directory = mkdtempSync(join(tmpdir(), "sandpipe-local-test-"));
  chmodSync(directory, 0o755);
});
after(() => rmSync(directory, { recursive: true }));

/**
 * Runs a module in a Node.js of its own; resolves what it printed when it has ended by itself.
 *
 * @param {string} source
 * @param {number} [uid]
 * @param {(child: import("node:child_process").ChildProcess) => Promise<void>} [act] meanwhile
 */
async function inNode(source, uid = 0, act = undefined) {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    stdio: ["ignore", "pipe", "inherit"],
    ...(uid === 0 ? {} : { uid, gid: uid }),
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (said += text));
  const closed = once(child, "close");
  await act?.(child);
  const [code] = await closed;
  assert.equal(code, 0, said);
  return said;
}

/** The address of the package, for a module that is in no folder. */
const PACKAGE = JSON.stringify(import.meta.resolve("sandpipe/node"));

describe("localRuntime", () => {
  const local = localRuntime();

  it("gives stdout and stderr in the order in which they were written", async () => {
    for (const shell of ["dash", "bash"]) {
      const script = "for i in 1 2 3; do echo out; echo err >&2; done";
      const { output } = await localRuntime({ shell }).run(script);
      assert.equal(output, "out\nerr\n".repeat(3), shell);
    }
  });

  it("has bash read no ~/.bashrc, not even on a machine that was reached over SSH", async () => {
    writeFileSync(join(directory, ".bashrc"), "echo hello; export GREETED=yes\n");
    const said = await inNode(
      `import { localRuntime } from ${PACKAGE};
      process.env.HOME = ${JSON.stringify(directory)};
      // In a bash that another bash has started it is not read anyway.
      delete process.env.SHLVL;
      const short = "echo greeted: $GREETED";
      const all = [["bash", short], ["bash", short + " #" + "x".repeat(200_000)]];
      all.push(["/bin/bash", short], ["sh", \`bash -c '\${short}'\`]);
      for (const [shell, script] of all) console.log((await localRuntime({ shell }).run(script)).output);
      process.env.SSH_CLIENT = "::1 50000 22";
      for (const [shell, script] of all.slice(0, 3)) console.log((await localRuntime({ shell }).run(script)).output);`,
    );
    assert.equal(said, "greeted:\n\n".repeat(7));
  });

  it("ends with the shell, though what it left behind writes on and on", async () => {
    const mark = marker();
    const [name = ""] = Object.keys(mark);
    // As fast as a shell can: `cat /dev/zero` could reach the limit of an output before the shell ends.
    const flood = "sh -c 'while :; do echo more; done' & ".repeat(4);
    const { exitCode } = await local.run(`export ${name}=1; ${flood} sleep 0.2; exit 3`);
    assert.equal(exitCode, 3);
    // Nobody reads what it writes.
    await until(() => marked(mark).length === 0);
  });

  it("takes a character that is cut at the end for what it is", async () => {
    const { output } = await local.run("printf 'é\\303'");
    assert.equal(output, "é\ufffd");
  });

  it("refuses more output than a string can hold, and stops the script", async () => {
    const mark = marker();
    const [name = ""] = Object.keys(mark);
    const running = local.run(`export ${name}=1; tr '\\0' x </dev/zero`);
    await assert.rejects(running, (error) => {
      assert.ok(error instanceof OutputLimitError);
      assert.match(error.message, /longer than a string can be \(\d+ characters\); it was stopped/);
      assert.equal(error.output.length, 2 ** 29 - 24);
      return true;
    });
    assert.deepEqual(marked(mark), []);
  });

  it("says when a script that was aborted can't be ended", { skip: noNobody }, async () => {
    // Who owns this checkout may keep others out of it.
    const copy = join(directory, "package");
    cpSync(dist, copy, { recursive: true });
    execFileSync("chmod", ["-R", "a+rX", copy]);
    const setpriv = join(directory, "setpriv");
    copyFileSync(execFileSync("which", ["setpriv"], { encoding: "utf8" }).trim(), setpriv);
    chmodSync(setpriv, 0o4755);
    const mark = marker();
    const [name = ""] = Object.keys(mark);
    const script = `echo begun; export ${name}=1; exec '${setpriv}' --reuid=0 sleep 600`;
    // Its `run` rejects, and nothing holds that process up.
    const said = await inNode(
      `import { localRuntime } from ${JSON.stringify(join(copy, "node", "index.js"))};
      import { setTimeout as pause } from "node:timers/promises";
      const stop = new AbortController();
      process.once("SIGUSR1", async () => {
        const now = performance.now.bind(performance);
        let passed = 0;
        performance.now = () => now() + passed;
        stop.abort(new Error("enough"));
        // The time passes until it is killed, and until it is given up.
        for (const ms of [10_000, 5_000]) {
          await pause(100);
          passed += ms;
        }
      });
      const error = await localRuntime().run(${JSON.stringify(script)}, { signal: stop.signal })
        .catch((error) => error);
      console.log(error.code, error.name, error.output, error.cause.message, error.message);`,
      NOBODY,
      async (child) => {
        // Until it is root's, as `sleep` is, it can be ended.
        const isSleep = (/** @type {string} */ pid) =>
          readFileSync(`/proc/${pid}/comm`, "utf8") === "sleep\n";
        await until(() => child.exitCode !== null || marked(mark).some(isSleep));
        child.kill("SIGUSR1");
      },
    );
    const message = "interrupted, but some of its processes could not be ended";
    assert.equal(said, `interrupted AbortError begun\n enough ${message}\n`);
    const left = marked(mark);
    assert.equal(left.length, 1);
    for (const pid of left) process.kill(Number(pid), "SIGKILL");
  });

  it(
    "does not wait for zombies that nobody reaps",
    { skip: !isRoot && "only for root" },
    async () => {
      // Node.js as a container's first process: it reaps its own children alone.
      const file = join(directory, "zombies");
      const script = `sleep 600 & : >'${file}'; sleep 600`;
      const source = `import { existsSync } from "node:fs";
      import { setTimeout as pause } from "node:timers/promises";
      import { localRuntime } from ${PACKAGE};
      const stop = new AbortController();
      const running = localRuntime().run(${JSON.stringify(script)}, { signal: stop.signal })
        .catch((error) => error);
      while (!existsSync(${JSON.stringify(file)})) await pause(10);
      // The time does not pass after which they would be killed, and given up.
      performance.now = () => 0;
      stop.abort(new Error("enough"));
      console.log(process.pid, (await running).message);`;
      const said = execFileSync(
        "unshare",
        ["--pid", "--fork", "--mount-proc", process.execPath, "--input-type=module", "-e", source],
        { encoding: "utf8", timeout: 60_000 },
      );
      assert.equal(said, "1 interrupted\n");
    },
  );

  it("leaves nothing open, however a script ends", async () => {
    const mark = marker();
    const [name = ""] = Object.keys(mark);
    const open = () => readdirSync("/proc/self/fd").length;
    const signal = new AbortController().signal;
    const none = localRuntime({ shell: join(directory, "none") });
    const long = `# ${"x".repeat(2_000_000)}\n`;
    await local.run("true");
    const before = open();
    for (let round = 0; round < 5; round += 1) {
      const stop = new AbortController();
      const aborted = local.run("sleep 600", { signal: stop.signal });
      stop.abort();
      await Promise.all([
        local.run(`${long}exit 0`, { signal }),
        local.run(`export ${name}=1; sleep 600 & exit 3`, { signal }),
        assert.rejects(aborted, { name: "AbortError" }),
        assert.rejects(none.run("true", { signal }), {
          code: "system",
          errno: "ENOENT",
          mayHaveRun: false,
        }),
        assert.rejects(none.run(`${long}exit 0`, { signal }), {
          code: "system",
          errno: "ENOENT",
          mayHaveRun: false,
        }),
      ]);
    }
    await until(() => open() <= before);
    for (const pid of marked(mark)) process.kill(Number(pid), "SIGKILL");
    assert.deepEqual(getEventListeners(signal, "abort"), []);
  });

  it("says when the system has no room for one more script", async () => {
    const source = `import { localRuntime } from ${PACKAGE};
      const local = localRuntime();
      const all = await Promise.allSettled(Array.from({ length: 40 }, () => local.run("echo a")));
      const failed = all.filter(({ status }) => status === "rejected");
      console.log(failed.length > 0, [...new Set(failed.map(({ reason }) => reason.errno))]);
      console.log((await local.run("echo on")).output);`;
    const limited = 'ulimit -n 60; exec "$0" --input-type=module --eval "$1"';
    const said = execFileSync("sh", ["-c", limited, process.execPath, source]);
    assert.equal(String(said), "true [ 'EMFILE' ]\non\n\n");
  });

  it("says what is wrong with an argument", async () => {
    for (const shell of ["", 5, null, "a\0b"]) {
      assert.throws(() => localRuntime(/** @type {any} */ ({ shell })), InvalidArgumentError);
    }
    for (const call of [
      () => local.run(/** @type {any} */ (undefined)),
      () => local.run("a\0b"),
      () => local.run(`${"x".repeat(200_000)}\0b`),
      () => local.run("true", /** @type {any} */ ({ signal: 1 })),
    ]) {
      await assert.rejects(call, InvalidArgumentError);
    }
    // A long script is easier to mend where it says so.
    await assert.rejects(local.run("a\nb\0"), /`script` .*NUL.* in line 2, character 2$/);
  });

  it("rejects when a signal is aborted before, and twice", async () => {
    const file = join(directory, "ran");
    const reason = new Error("no");
    const run = local.run(`: >'${file}'`, { signal: AbortSignal.abort(reason) });
    await assert.rejects(run, interruptedBy(reason));
    const stop = new AbortController();
    const running = local.run("echo begun; sleep 600", { signal: stop.signal });
    stop.abort(reason);
    stop.abort(new Error("another"));
    await assert.rejects(running, interruptedBy(reason));
    assert.ok(!readdirSync(directory).includes("ran"));
  });
});
