// @ts-check
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

import { connect, InterruptedError, OutputLimitError, SessionError, TimeoutError } from "sandpipe";

import { marked, marker, statOf, until } from "../../support/processes.mjs";
import { failure } from "../../support/script.mjs";
import { createSession, testSessions } from "./place.mjs";
import { timersOf } from "./timers-of.mjs";

/** The time for which all processes but the shell are killed repeatedly, in milliseconds. */
const KILL_OTHERS_TIMEOUT_MS = 3000;

/** Waits, and says so. The program that waits prints: bash loses a SIGINT that comes while it starts a program. */
const WAITING = "sh -c 'echo begun; exec sleep 1000'";

/** Options of a run that is aborted as soon as it has said something. */
function abortedOnceBegun() {
  const stop = new AbortController();
  return { signal: stop.signal, onOutput: () => stop.abort() };
}

testSessions(
  "stopping runs of sessions",
  (place, { it, shellContract, runtimeContract, contract }) => {
    it("does not wait for a listener, and goes on", () =>
      place.inSession(async (session) => {
        const never = () => new Promise(() => {});
        const error = await failure(session.run(WAITING, { timeoutMs: 300, onOutput: never }));
        assert.ok(error instanceof TimeoutError, String(error));
        assert.equal(error.forced, false);
        assert.equal((await session.run("echo next")).output, "next\n");
      }));

    contract("interrupts a run that is aborted or whose time is over, and goes on", () =>
      place.inSession(async (session) => {
        await session.run("cd /; KEPT=yes");
        const loop = "echo begun; while :; do :; done";
        for (const script of [
          `${WAITING}; echo not reached`,
          loop,
          `for i in 1 2 3; do ${WAITING}; done; echo not reached`,
          `(${WAITING} | cat | cat); echo not reached`,
        ]) {
          const error = await failure(session.run(script, abortedOnceBegun()));
          assert.ok(error instanceof InterruptedError, script);
          assert.deepEqual([error.exitCode, error.forced], [130, false], script);
          // A shell moves to a new line.
          assert.match(String(error.output), /^begun\n\n?$/);
          assert.equal((await session.run("pwd; echo $KEPT")).output, "/\nyes\n", script);
        }
        const error = await failure(session.run(loop, { timeoutMs: 200 }));
        assert.ok(error instanceof TimeoutError);
        assert.deepEqual([error.exitCode, error.forced], [124, false]);
        // The time may be over before it has printed.
        assert.match(String(error.output), /^(begun\n)?\n?$/);
        assert.equal((await session.run("pwd; echo $KEPT")).output, "/\nyes\n");
      }),
    );

    contract("no part of a script is run that was interrupted while it was sent", () =>
      place.inSession(async (session) => {
        const { output } = await session.run('FILE=$(mktemp -u); echo "$FILE"');
        // As commands these lines would make the file; as the script has them they do not.
        const script = `cat >/dev/null <<'EOF'\n${'touch "$FILE"\n'.repeat(150_000)}EOF\nsleep 1000`;
        for (const timeoutMs of [0, 5, 10, 20, 40, 80]) {
          const error = await failure(session.run(script, { timeoutMs }));
          assert.ok(error instanceof TimeoutError);
          assert.equal((await session.run("echo on")).output, "on\n");
        }
        assert.equal(existsSync(output.trim()), false);
      }),
    );

    it("interrupts a run that is aborted, with its reason", () =>
      place.inSession(async (session) => {
        const stop = new AbortController();
        const reason = new Error("enough");
        const running = session.run(WAITING, {
          signal: stop.signal,
          onOutput: () => stop.abort(reason),
        });
        const error = await failure(running);
        assert.ok(error instanceof InterruptedError);
        assert.deepEqual([error.name, error.exitCode, error.forced], ["AbortError", 130, false]);
        assert.equal(error.cause, reason);
        assert.equal((await session.run("echo on")).output, "on\n");
      }));

    contract("kills what ignores SIGINT, but not the shell", () =>
      place.inSession(async (session) => {
        await session.run("KEPT=yes");
        const stubborn = `sh -c "trap '' INT; echo begun; while :; do sleep 0.05; done"`;
        const options = { ...abortedOnceBegun(), graceMs: 100 };
        const late = await failure(session.run(stubborn, options));
        assert.ok(late instanceof InterruptedError);
        assert.equal(late.forced, true);
        assert.equal((await session.run("echo $KEPT")).output, "yes\n");

        const force = new AbortController();
        const running = session.run(stubborn, {
          forceSignal: force.signal,
          onOutput: () => force.abort(),
        });
        const forced = await failure(running);
        assert.ok(forced instanceof InterruptedError);
        assert.deepEqual([forced.exitCode, forced.forced], [130, true]);
        assert.equal((await session.run("echo $KEPT")).output, "yes\n");
      }),
    );

    contract("is over when its shell itself can't be interrupted", (t) =>
      place.inSession(async (session) => {
        const limits = timersOf(t, KILL_OTHERS_TIMEOUT_MS);
        const script = "trap '' INT; echo begun; while :; do :; done";
        const failed = failure(session.run(script, { ...abortedOnceBegun(), graceMs: 50 }));
        await until(() => limits.count() === 1);
        limits.end();
        const error = await failed;
        assert.ok(error instanceof InterruptedError);
        assert.deepEqual([error.forced, error.output], [true, "begun\n"]);
        const next = await failure(session.run("echo on"));
        assert.ok(next instanceof SessionError);
        assert.match(next.message, /could not be interrupted: its shell traps SIGINT.* was killed/);
      }),
    );

    for (const [what, gently] of /** @type {const} */ ([
      ["is told so at once", false],
      ["is told so later", true],
    ])) {
      runtimeContract(`forces a run that has not begun, where it ${what}`, async () => {
        const [stop, force] = [new AbortController(), new AbortController()];
        let armed = false;
        const watching = await connect({
          ...place.agent,
          async fetch(input, init) {
            const response = await fetch(input, init);
            if (!armed || !String(input).endsWith("/io")) return response;
            armed = false;
            if (gently) stop.abort();
            setImmediate(() => force.abort());
            return response;
          },
        });
        const mark = marker();
        const session = await createSession(watching, { shell: place.shell, env: mark });
        const pid = (await session.run("echo $$")).output.trim();
        // What is stopped reads no script.
        process.kill(Number(pid), "SIGSTOP");
        await until(() => readFileSync(`/proc/${pid}/stat`, "latin1").includes(") T "));
        armed = true;
        const options = { signal: stop.signal, forceSignal: force.signal };
        const error = await failure(session.run("echo begun", options));
        assert.ok(error instanceof InterruptedError, String(error));
        assert.deepEqual([error.forced, error.output], [true, ""]);
        assert.deepEqual(marked(mark), [], "its shell was killed");
        const next = await failure(session.run("echo on"));
        assert.ok(next instanceof SessionError);
        assert.match(next.message, /was to stop before it had begun, and its shell was killed/);
        await session.close();
      });
    }

    shellContract("is over when its shell runs nothing any more", (t) =>
      place.inSession(async (session) => {
        const limits = timersOf(t, KILL_OTHERS_TIMEOUT_MS);
        const nothing = { bash: "shopt -s extdebug; trap false DEBUG", dash: "set -n" };
        const script = `echo begun\n${nothing[place.shell]}`;
        const pid = (await session.run("echo $$")).output.trim();
        const stop = new AbortController();
        let begun = () => {};
        const hasBegun = new Promise((resolve) => (begun = () => resolve(undefined)));
        const options = { signal: stop.signal, onOutput: begun, graceMs: 50 };
        const running = failure(session.run(script, options));
        await hasBegun;
        // It waits for more to read, so the script has been run to its end.
        await until(() => statOf(pid)[0] === "S");
        stop.abort();
        await until(() => limits.count() === 1);
        limits.end();
        const error = await running;
        assert.ok(error instanceof InterruptedError);
        assert.deepEqual([error.forced, error.output], [true, "begun\n"]);
        const next = await failure(session.run("echo on"));
        assert.ok(next instanceof SessionError);
        assert.match(next.message, /runs nothing any more \(`set -n`\), and was killed/);
      }),
    );

    runtimeContract("stops a script whose output is too long, or whose listener throws", () =>
      place.inSession(async (session) => {
        // What comes until it is stopped is read to its end: `yes` alone writes more than can be
        // read in its grace period.
        const script = "sh -c 'yes | head -c 100000; exec sleep 1000'";
        const error = await failure(session.run(script, { maxOutputBytes: 5 }));
        assert.ok(error instanceof OutputLimitError);
        assert.equal(error.output, "y\ny\ny");
        const thrown = new Error("mine");
        const running = session.run(WAITING, {
          onOutput() {
            throw thrown;
          },
        });
        assert.equal(await failure(running), thrown);
        assert.equal((await session.run("echo on")).output, "on\n");
      }),
    );

    it("a run that is aborted in the queue never runs", () =>
      place.inSession(async (session) => {
        const stop = new AbortController();
        const go = (await session.run('GO=$(mktemp -u); echo "$GO"')).output.trim();
        const first = session.run('until [ -e "$GO" ]; do sleep 0.02; done; rm "$GO"; echo first');
        const second = session.run("SECOND=ran", { signal: stop.signal });
        const late = session.run("SECOND=ran", { timeoutMs: 50 });
        const third = session.run('echo "${SECOND-not run}"');
        stop.abort();
        const error = await failure(second);
        assert.ok(error instanceof InterruptedError);
        assert.deepEqual([error.execId, error.output], [undefined, ""]);
        assert.ok((await failure(late)) instanceof TimeoutError);
        const before = session.run("SECOND=ran", { signal: AbortSignal.abort() });
        assert.ok((await failure(before)) instanceof InterruptedError);
        writeFileSync(go, "");
        assert.equal((await first).output, "first\n");
        assert.equal((await third).output, "not run\n");
      }));
  },
);
