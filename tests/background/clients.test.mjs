// @ts-check
// Clients that come and go: what one began is another's.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import * as sandpipe from "sandpipe";
import { localRuntime } from "sandpipe/node";

import { directoryOfTests, fails, groupMembers } from "../support/target.mjs";
import { inTime } from "./in-time.mjs";
import { LONG_MS } from "./suite/subject.mjs";

/** @import { BackgroundOptions, Runtime } from "sandpipe" */

/** @param {Runtime} runtime @param {BackgroundOptions} options */
const background = (runtime, options) => inTime(sandpipe.background(runtime, options));

describe("background processes", () => {
  const { directory } = directoryOfTests();
  const local = localRuntime();

  it("are found, read from the start and terminated by another client than the one that died", async () => {
    const baseDir = join(directory, "orphaned");
    // It ends with the directory of these tests, whatever happens.
    const script = `echo begun; while [ -d '${directory}' ]; do echo on; sleep 0.02; done`;
    const program = fileURLToPath(new URL("client.mjs", import.meta.url));
    const client = spawn(process.execPath, [program, baseDir, script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(client, "exit");
    const signal = AbortSignal.timeout(60_000);
    const [id] = await once(createInterface({ input: client.stdout }), "line", { signal });
    client.kill("SIGKILL");
    await ended;

    const another = background(local, { baseDir });
    const [found, ...others] = await another.list();
    assert.deepEqual([found?.id, found?.status, others], [id, "running", []]);
    const { output, nextOffset } = await another.readOutput(id, { waitMs: LONG_MS });
    assert.match(output, /^begun\n(on\n)*$/);
    const more = await another.readOutput(id, { offset: nextOffset, waitMs: LONG_MS });
    assert.match(more.output, /^(on\n)+$/);
    const { status, exitCode, pid } = await another.terminate(id);
    assert.deepEqual([status, exitCode, groupMembers(pid)], ["killed", 143, []]);
  });

  it("are listed in one round trip", async () => {
    let calls = 0;
    /** @type {Runtime} */
    const counting = { run: (script, opts) => ((calls += 1), local.run(script, opts)) };
    const processes = background(counting, { baseDir: join(directory, "many") });
    // Some run, some have ended.
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          processes.spawn(index < 2 ? "sleep 600" : "exit 5"),
        ),
      );
    }
    for (const { id, status } of await processes.list()) {
      if (status === "running" && (await processes.get(id)).script !== "sleep 600") {
        await processes.wait(id);
      }
    }
    calls = 0;
    const listed = await processes.list();
    assert.equal(calls, 1);
    const running = listed.filter(({ status }) => status === "running");
    assert.deepEqual([listed.length, running.length], [200, 20]);
    assert.equal(listed.filter(({ exitCode }) => exitCode === 5).length, 180);
    await Promise.all(running.map(({ id }) => processes.terminate(id)));
  });

  it("are listed when there are more than fit into the arguments of a program", async () => {
    const baseDir = join(directory, "too many");
    const processes = background(local, { baseDir });
    const { id, outputDir } = await processes.spawn("true");
    await processes.wait(id);
    const meta = readFileSync(join(outputDir, "meta.json"), "utf8");
    for (let count = 0; count < 1000; count += 1) {
      const another = `${count}-${"x".repeat(200)}`;
      const path = join(baseDir, "default", another);
      mkdirSync(path);
      writeFileSync(join(path, "meta.json"), meta.replace(`"id":"${id}"`, `"id":"${another}"`));
      copyFileSync(join(outputDir, "exit_code"), join(path, "exit_code"));
    }
    const narrow = /** @type {Runtime} */ ({
      run: (script, opts) => local.run(`export LC_ALL=C; ulimit -s 256; ${script}`, opts),
    });
    await assert.rejects(async () => {
      const { exitCode, output } = await narrow.run(`cat '${baseDir}'/default/*/exit_code`);
      assert.equal(exitCode, 0, output);
    }, /Argument list too long/);
    const listed = await background(narrow, { baseDir }).list();
    assert.deepEqual([listed.length, listed.at(-1)?.status], [1001, "exited"]);
  });

  it("are listed without the rest of a long script", async () => {
    const processes = background(local, { baseDir: join(directory, "long") });
    const script = `echo é\n# ${"é".repeat(100_000)}`;
    const { id } = await processes.spawn(script, { name: "é" });
    const [listed] = await processes.list();
    assert.deepEqual([listed?.id, listed?.name], [id, "é"]);
    assert.equal(Buffer.byteLength(listed?.script ?? ""), 1024);
    assert.ok(script.startsWith(listed?.script ?? "none"));
    assert.equal((await processes.wait(id)).script, script);
  });

  it("are listed whatever else is there", async () => {
    const baseDir = join(directory, "broken");
    const processes = background(local, { baseDir });
    const { id } = await processes.spawn("sleep 600");
    for (const name of ["half", "an odd name", "empty"]) mkdirSync(join(baseDir, "default", name));
    writeFileSync(join(baseDir, "default", "half", "meta.json"), '{"pid":1,"sta');
    writeFileSync(join(baseDir, "default", "an odd name", "meta.json"), "{}\n{}\n");
    assert.deepEqual(
      (await processes.list()).map((process) => process.id),
      [id],
    );
    await fails(() => processes.get("half"), /can't be read/);
    await processes.remove("half");
    await processes.terminate(id);
  });
});
