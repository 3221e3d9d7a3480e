// @ts-check
// Clients that come and go: what one began is another's.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import { background, NotFoundError } from "sandpipe";
import { localRuntime } from "sandpipe/node";

import { until } from "../support/processes.mjs";
import {
  fails,
  groupMembers,
  programsWithout,
  shellWith,
  directoryOfTests,
} from "../support/target.mjs";

/** @import { Runtime } from "sandpipe" */

describe("background processes", () => {
  const { directory, subdirectory } = directoryOfTests();
  const local = localRuntime();

  it("are found, read from the start and terminated by another client than the one that died", async () => {
    const baseDir = join(directory, "orphaned");
    const script = "echo begun; while :; do echo on; sleep 0.02; done";
    const program = fileURLToPath(new URL("client.mjs", import.meta.url));
    const client = spawn(process.execPath, [program, baseDir, script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [id] = await once(createInterface({ input: client.stdout }), "line");
    client.kill("SIGKILL");
    await once(client, "exit");

    const another = background(local, { baseDir });
    const [found, ...others] = await another.list();
    assert.deepEqual([found?.id, found?.status, others], [id, "running", []]);
    const { output, nextOffset } = await another.readOutput(id, { waitMs: 30_000 });
    assert.match(output, /^begun\n(on\n)*$/);
    const more = await another.readOutput(id, { offset: nextOffset, waitMs: 30_000 });
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
      run: (script, opts) => local.run(`ulimit -s 256; ${script}`, opts),
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

  it("leave nothing behind when they are stopped while they are made", async () => {
    const baseDir = join(directory, "stopped");
    const home = join(baseDir, "default");
    const processes = background(local, { baseDir });
    await processes.run("true");
    const place = subdirectory("no start");
    const started = join(directory, "started");
    const setsid = join(place, "setsid");
    writeFileSync(setsid, `#!/bin/sh\n[ "$1" = true ] && exit\n: >'${started}'\nsleep 600\n`);
    chmodSync(setsid, 0o755);
    const shell = shellWith(place, programsWithout(["setsid"]), "dash");
    for (const signal of /** @type {const} */ (["SIGTERM", "SIGKILL"])) {
      const making = background(
        {
          async run(script) {
            const maker = spawn(shell, ["-c", script], { detached: true, stdio: "ignore" });
            await until(() => existsSync(started));
            rmSync(started);
            assert.equal(readdirSync(home).length, 1);
            process.kill(-(maker.pid ?? 0), signal);
            await once(maker, "exit");
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

  it("are gone, and not empty, for who reads while they are removed", async () => {
    for (const program of ["wc", "tail"]) {
      const place = subdirectory(`removing ${program}`);
      const baseDir = join(place, "base");
      const { id, outputDir } = await background(local, { baseDir }).spawn("echo hello");
      await background(local, { baseDir }).wait(id);
      const shell = shellWith(place, programsWithout([program]), "dash");
      const script = `#!/bin/sh\nrm -rf '${outputDir}'\nexec /usr/bin/${program} "$@"\n`;
      writeFileSync(join(place, program), script, { mode: 0o755 });
      for (const stream of /** @type {const} */ (["stdout", "both"])) {
        await assert.rejects(
          background(localRuntime({ shell }), { baseDir }).readOutput(id, { stream }),
          (error) => error instanceof NotFoundError && error.id === id,
        );
      }
    }
  });
});
