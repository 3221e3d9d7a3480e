// @ts-check
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";

import { ClosedError, connect, HttpError, InvalidArgumentError, SessionError } from "sandpipe";

import { marked, marker, until } from "../../support/processes.mjs";
import { failure } from "../../support/script.mjs";
import { testSessions } from "./place.mjs";

testSessions("the end of sessions", (place) => {
  it("says why there is no session", async () => {
    /** @param {any} options */
    const refused = (options) => failure(place.sandbox.sessions.create(options));
    const before = (await place.sandbox.execs.list()).length;
    const missing = await refused({ shell: "/nonexistent/shell" });
    assert.ok(missing instanceof SessionError);
    assert.match(missing.message, /"\/nonexistent\/shell" could not be started \(127\): .*No such/);
    const directory = await refused({ shell: "/tmp" });
    assert.match(directory.message, /"\/tmp" could not be started \(126\)/);
    const brief = await refused({ shell: "true" });
    assert.match(brief.message, /"true" ended with exit code 0 before it was ready\. Make/);
    // It reads on, and answers with what it has read.
    const echo = await refused({ shell: "tee" });
    assert.match(echo.message, /"tee" is no shell: it prints what it is given\. Make/);
    const cwd = await refused({ cwd: "/nonexistent" });
    assert.ok(cwd instanceof HttpError && cwd.status === 400);
    for (const options of [{ shell: "" }, { shell: 1 }, { pty: true }, { cwd: 1 }, "bash"]) {
      assert.ok((await refused(options)) instanceof InvalidArgumentError);
    }
    assert.equal((await place.sandbox.execs.list()).length, before);
  });

  it("waits for a shell that is slow, and not for ever", { timeout: 60_000 }, async (t) => {
    if (place.shell !== "dash") return void t.skip("the same with every shell");
    const folder = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const [slow, silent] = [join(folder, place.shell), join(folder, "silent")];
    writeFileSync(slow, `#!/bin/sh\necho wait; sleep 12; exec ${place.shell} "$@"\n`);
    writeFileSync(silent, "#!/bin/sh\nexec sleep 600\n");
    for (const file of [slow, silent]) chmodSync(file, 0o755);
    const refused = failure(place.sandbox.sessions.create({ shell: silent }));
    await place.inSession(
      async (session) => assert.equal((await session.run("echo on")).output, "on\n"),
      { shell: slow },
    );
    const error = await refused;
    assert.ok(error instanceof SessionError);
    assert.match(error.message, /was not ready within 30 s: it may be no shell\. Make/);
  });

  it("is over when its shell ends, and says so", async () => {
    for (const [script, exitCode, output] of /** @type {const} */ ([
      ["echo bye; exit 3", 3, "bye\n"],
      ["exec sh -c 'echo other; exit 5'", 5, "other\n"],
      ["kill -KILL $$", 137, ""],
    ])) {
      await place.inSession(async (session) => {
        assert.deepEqual(await session.run(script), { exitCode, output });
        const error = await failure(session.run("echo on"));
        assert.ok(error instanceof SessionError, script);
        assert.equal(error.code, "session");
        assert.match(error.message, new RegExp(`this session is over: .*exit code ${exitCode}`));
        assert.equal((await place.sandbox.execs.get(error.execId)).exitCode, exitCode);
      });
    }
  });

  it("is over when its shell can't read a script any more", () =>
    place.inSession(async (session) => {
      await session.run(`ulimit -n ${place.shell === "bash" ? 10 : 15}`);
      const error = await failure(session.run("echo it ran"));
      assert.ok(error instanceof SessionError);
      assert.match(error.message, /could not read a script: .*Too many open files/);
      assert.doesNotMatch(error.message, /it ran/);
      if (place.shell === "bash") {
        await place.inSession(async (session) => {
          await session.run("set -r");
          const error = await failure(session.run("echo it ran"));
          assert.ok(error instanceof SessionError);
          assert.match(error.message, /could not read a script: .*restricted/);
        });
      }
    }));

  it("a run whose shell has ended meanwhile did not run", () =>
    place.inSession(async (session) => {
      const { output } = await session.run("echo $$");
      process.kill(Number(output), "SIGKILL");
      await until(() => marked({}).every((pid) => pid !== output.trim()));
      const error = await failure(session.run("echo on"));
      assert.ok(error instanceof SessionError);
      assert.match(error.message, /ended with exit code 137 before this run/);
    }));

  it("closes with everything in its group, also twice, and with runs under way", async () => {
    const mark = marker();
    const session = await place.sandbox.sessions.create({ shell: place.shell, env: mark });
    await session.run(
      "sleep 1000 & (trap '' HUP; sleep 1000) & nohup sleep 1000 >/dev/null 2>&1 &",
    );
    let begun = () => {};
    const hasBegun = new Promise((resolve) => (begun = () => resolve(undefined)));
    const running = failure(session.run("echo begun; sleep 1000", { onOutput: begun }));
    const queued = failure(session.run("echo queued"));
    await hasBegun;
    await until(() => marked(mark).length >= 5);
    await Promise.all([session.close(), session.close()]);
    assert.deepEqual(marked(mark), []);
    for (const error of await Promise.all([running, queued, failure(session.run("echo"))])) {
      assert.ok(error instanceof SessionError);
      assert.match(error.message, /this session is over: it was closed/);
    }
    await session.close();
    assert.ok((await place.sandbox.execs.list()).every(({ command }) => command !== place.shell));
  });

  it("ends with its sandbox", async () => {
    const mark = marker();
    const other = await connect(place.agent);
    const session = await other.sessions.create({ shell: place.shell, env: mark });
    await session.run("sleep 1000 &");
    const running = failure(session.run("sleep 1000"));
    other.close();
    assert.ok((await running) instanceof ClosedError);
    await until(() => marked(mark).length === 0);
    assert.ok((await failure(session.run("echo on"))) instanceof ClosedError);
    assert.ok((await failure(other.sessions.create())) instanceof ClosedError);
  });
});
