// @ts-check
// Tests of scripts over SSH whose stdout is full.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { sshRuntime } from "sandpipe/node";

// No part of the package's interface.
import { greeting, RemoteOutput, wrapped } from "../../dist/node/ssh/remote-script.js";
import { until } from "../support/processes.mjs";
import { startSshd, withPath } from "../support/sshd.mjs";
import { directoryWith } from "./script-meaning.mjs";

describe("a script over SSH that leaves its stdout non-blocking and full", () => {
  /** @type {string} */
  let folder;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
  });
  after(() => rmSync(folder, { recursive: true }));

  /**
   * Fills its stdout for some time, in milliseconds, makes a file, and is killed: Node.js would make stdout
   * blocking again. A chunk is more than a pipe holds, so that one write fills it, however fast it is read.
   *
   * @param {number} ms @param {string} file
   */
  const filling = (ms, file) => `'${process.execPath}' -e '
    process.stdout.on("error", () => undefined);
    const { writeFileSync, writeSync } = require("node:fs");
    const end = performance.now() + ${ms};
    const chunk = Buffer.alloc(1 << 20, "x");
    let full = false;
    do {
      try {
        writeSync(1, chunk);
      } catch {
        if (!full) writeFileSync("${file}", "");
        full = true;
      }
    } while (!full || performance.now() < end);
    process.kill(process.pid, "SIGKILL");'`;

  for (const shell of ["dash", "bash", "busybox"]) {
    it(
      `has its exit code with ${shell}, while something fills it`,
      { timeout: 60_000 },
      async (t) => {
        const path = `${directoryWith(shell)}:${process.env["PATH"]}`;
        const server = await startSshd({ settings: [withPath(path)] });
        const ssh = sshRuntime(server.options);
        t.after(async () => {
          await ssh.close();
          await server.stop();
        });
        const runs = Array.from({ length: 4 }, async (_, run) => {
          const file = join(folder, `${shell}-${run}`);
          const script = `${filling(500, file)} & until [ -e '${file}' ]; do sleep 0.02; done; exit 7`;
          const { exitCode, output } = await ssh.run(script);
          assert.deepEqual([exitCode, output.replaceAll("x", "")], [7, ""]);
        });
        await Promise.all(runs);
      },
    );

    it(
      `says it on stderr with ${shell} where stdout stays full`,
      { timeout: 120_000 },
      async () => {
        // Without the pauses, which take a minute. Some builds of busybox know no sleep but their own.
        const path = directoryWith(shell, { sleep: "/bin/true" });
        const pipe = join(folder, `${shell}-pipe`);
        execFileSync("mkfifo", [pipe]);
        const stdout = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
        const child = spawn(join(path, "sh"), {
          env: { ...process.env, PATH: `${path}:${process.env["PATH"]}` },
          stdio: ["pipe", stdout, "pipe"],
        });
        const file = join(folder, `${shell}-full`);
        child.stdin?.write(greeting("nonce"));
        await until(() => isGreeted(stdout));
        child.stdin?.end(wrapped(`${filling(0, file)}; exit 7`));
        let said = "";
        child.stderr?.setEncoding("utf8").on("data", (text) => (said += text));
        await once(child, "close");
        closeSync(stdout);
        assert.equal(new RemoteOutput("nonce").exitCodeIn(said), 7, said);
      },
    );
  }
});

/** Reads the first marker of a remote shell, if it is there. @param {number} stdout */
function isGreeted(stdout) {
  try {
    return readSync(stdout, Buffer.alloc(100)) > 0;
  } catch (error) {
    assert.equal(/** @type {NodeJS.ErrnoException} */ (error).code, "EAGAIN");
    return false;
  }
}
