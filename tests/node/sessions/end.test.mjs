// @ts-check
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ClosedError, connect, HttpError, InvalidArgumentError, SessionError } from "sandpipe";

import { inTime } from "../../background/in-time.mjs";
import { marked, marker, until } from "../../support/processes.mjs";
import { failure } from "../../support/script.mjs";
import { createSession, ENGLISH, testSessions } from "./place.mjs";
import { timersOf } from "./timers-of.mjs";

/** The time that a shell has to become ready, in milliseconds. */
const READY_TIMEOUT_MS = 30_000;

/** The time that a shell and its jobs have to end after SIGHUP, in milliseconds. */
const HANGUP_TIMEOUT_MS = 2000;

/** Whether a process lives and ignores SIGHUP, the first of the signals. @param {string} pid */
function ignoresHangup(pid) {
  let status;
  try {
    status = readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    // It has ended meanwhile.
    return false;
  }
  const [, ignored = ""] = /^SigIgn:\s*(\w+)$/m.exec(status) ?? [];
  return (Number.parseInt(ignored.slice(-1), 16) & 1) === 1;
}

testSessions("the end of sessions", (place, { it, shellContract, runtimeContract, contract }) => {
  runtimeContract("says why there is no session", async () => {
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

  it("waits for a shell that is slow, and not for ever", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const at = (/** @type {string} */ name) => join(folder, name);
    const [slow, silent, go] = [at(place.shell), at("silent"), at("go")];
    const wait = `echo wait; until [ -e '${go}' ]; do sleep 0.02; done`;
    writeFileSync(slow, `#!/bin/sh\n${wait}; exec ${place.shell} "$@"\n`, { mode: 0o755 });
    writeFileSync(silent, "#!/bin/sh\nexec sleep 600\n", { mode: 0o755 });
    const limits = timersOf(t, READY_TIMEOUT_MS);
    const inSlow = place.inSession(
      async (session) => assert.equal((await session.run("echo on")).output, "on\n"),
      { shell: slow },
    );
    await until(() => limits.count() === 1);
    writeFileSync(go, "");
    await inSlow;
    assert.equal(limits.count(), 0);
    const refused = failure(inTime(place.sandbox.sessions).create({ shell: silent }));
    await until(() => limits.count() === 1);
    limits.end();
    const error = await refused;
    assert.ok(error instanceof SessionError, String(error));
    assert.match(error.message, /was not ready within 30 s: it may be no shell\. Make/);
  });

  contract("is over when its shell ends, and says so", async () => {
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

  shellContract("is over when its shell can't read a script any more", async () => {
    await place.inSession(
      async (session) => {
        await session.run(`ulimit -n ${place.shell === "bash" ? 10 : 15}`);
        const error = await failure(session.run("echo it ran"));
        assert.ok(error instanceof SessionError, String(error));
        assert.match(error.message, /could not read a script: .*Too many open files/);
        assert.doesNotMatch(error.message, /it ran/);
      },
      { env: ENGLISH },
    );
    if (place.shell !== "bash") return;
    await place.inSession(
      async (session) => {
        await session.run("set -r");
        const error = await failure(session.run("echo it ran"));
        assert.ok(error instanceof SessionError, String(error));
        assert.match(error.message, /could not read a script: .*restricted/);
      },
      { env: ENGLISH },
    );
  });

  runtimeContract("a run whose shell has ended meanwhile did not run", () =>
    place.inSession(async (session) => {
      const { output } = await session.run("echo $$");
      process.kill(Number(output), "SIGKILL");
      await until(() => marked({}).every((pid) => pid !== output.trim()));
      const error = await failure(session.run("echo on"));
      assert.ok(error instanceof SessionError);
      assert.match(error.message, /ended with exit code 137 before this run/);
    }),
  );

  contract(
    "closes with everything in its group, also twice, and with runs under way",
    async (t) => {
      const mark = marker();
      const session = await createSession(place.sandbox, { shell: place.shell, env: mark });
      await session.run(
        "sleep 1000 & (trap '' HUP; sleep 1000) & nohup sleep 1000 >/dev/null 2>&1 &",
      );
      let begun = () => {};
      const hasBegun = new Promise((resolve) => (begun = () => resolve(undefined)));
      const running = failure(session.run("echo begun; sleep 1000", { onOutput: begun }));
      const queued = failure(session.run("echo queued"));
      await hasBegun;
      await until(() => marked(mark).length >= 5);
      const limits = timersOf(t, HANGUP_TIMEOUT_MS);
      const closing = Promise.all([session.close(), session.close()]);
      // The rest is killed when that time has passed.
      await until(() => limits.count() === 1 && marked(mark).every(ignoresHangup));
      assert.ok(marked(mark).length > 0);
      limits.end();
      await closing;
      assert.deepEqual(marked(mark), []);
      for (const error of await Promise.all([running, queued, failure(session.run("echo"))])) {
        assert.ok(error instanceof SessionError);
        assert.match(error.message, /this session is over: it was closed/);
      }
      await session.close();
      assert.ok((await place.sandbox.execs.list()).every(({ command }) => command !== place.shell));
    },
  );

  runtimeContract("ends with its sandbox", async () => {
    const mark = marker();
    const other = await connect(place.agent);
    const session = await createSession(other, { shell: place.shell, env: mark });
    await session.run("sleep 1000 &");
    const running = failure(session.run("sleep 1000"));
    other.close();
    assert.ok((await running) instanceof ClosedError);
    await until(() => marked(mark).length === 0);
    assert.ok((await failure(session.run("echo on"))) instanceof ClosedError);
    assert.ok((await failure(other.sessions.create())) instanceof ClosedError);
  });
});
