// Sessions: what a shell remembers, and what it survives. Each case is run against an agent with its
// extensions and against a plain one, with bash and with dash.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, describe, it } from "node:test";

import {
  ClosedError,
  connect,
  HttpError,
  InterruptedError,
  InvalidArgumentError,
  OutputLimitError,
  SandpipeError,
  SessionError,
  TimeoutError,
} from "sandpipe";
import { startAgent } from "sandpipe/node";

import { marked, marker, until } from "../processes.mjs";

/** @typedef {import("sandpipe").Session} Session */

for (const [kind, args, shell] of /** @type {const} */ ([
  ["bash at an agent with its extensions", [], "bash"],
  ["bash at a plain agent", ["--without", "all"], "bash"],
  ["dash at an agent with its extensions", [], "dash"],
])) {
  describe(`sessions, with ${kind}`, () => {
    /** @type {Awaited<ReturnType<typeof startAgent>>} */
    let agent;
    /** @type {import("sandpipe").Sandbox} */
    let sandbox;

    before(async () => {
      agent = await startAgent({ args });
      sandbox = await connect(agent);
    });
    after(() => agent.stop());

    /**
     * Uses a session; afterwards nothing of it is left.
     *
     * @param {(session: Session) => Promise<unknown>} act
     * @param {import("sandpipe").SessionOptions} [options]
     */
    const inSession = async (act, options = {}) => {
      const mark = marker();
      const env = { ...options.env, ...mark };
      const session = await sandbox.sessions.create({ shell, ...options, env });
      try {
        await act(session);
      } finally {
        await session.close();
      }
      assert.deepEqual(marked(mark), [], "no process is left");
    };

    /** @param {Promise<unknown>} running */
    const failure = (running) =>
      running.then(
        (result) => assert.fail(`it ended with ${JSON.stringify(result)}`),
        (error) => error,
      );

    it("remembers directory, variables, functions, aliases, umask and exit code", () =>
      inSession(async (session) => {
        const define = `cd /; VALUE='a b'; greet() { echo "hello $1"; }; alias ll='echo alias'
          umask 027; export EXPORTED=yes; set -u; set -- one two; exec 3>&1`;
        assert.deepEqual(await session.run(define), { exitCode: 0, output: "" });
        const recall = `pwd; echo "$VALUE"; greet you; ll; umask; sh -c 'echo $EXPORTED'
          echo $# $2; echo three >&3; echo $-; (exit 7)`;
        const { exitCode, output } = await session.run(recall);
        const [directory, value, greeting, alias, mask, exported, parameters, three, flags] =
          output.split("\n");
        assert.deepEqual(
          [directory, value, greeting, alias, mask, exported, parameters, three],
          ["/", "a b", "hello you", "alias", "0027", "yes", "2 two", "three"],
        );
        assert.match(flags ?? "", /u/);
        assert.equal(exitCode, 7);
        assert.equal((await session.run("echo $?")).output, "7\n");
        assert.equal((await session.run("echo $?")).output, "0\n");
      }));

    it("starts where, as whom and with what it is told", () =>
      inSession(
        async (session) => {
          const { output } = await session.run('pwd; echo "$NAME"; echo "${ENV-unset}"; id -u');
          assert.equal(output, `/tmp\nvalue\nunset\n${process.getuid?.()}\n`);
        },
        { cwd: "/tmp", env: { NAME: "value" }, user: String(process.getuid?.()) },
      ));

    it("keeps stdout and stderr apart, and alters no output", () =>
      inSession(async (session) => {
        /** @type {string[]} */
        const events = [];
        const script = "printf 'no newline'; printf '€' >&2";
        const { output } = await session.run(script, {
          onOutput: ({ type, output }) => events.push(`${type} ${output}`),
        });
        assert.equal([...output].sort().join(""), [..."no newline€"].sort().join(""));
        assert.deepEqual(events.sort(), ["stderr €", "stdout no newline"]);
        assert.deepEqual(await session.run(""), { exitCode: 0, output: "" });
        const long = "seq 1 200000; seq 1 200000 >&2; echo end";
        const { output: all } = await session.run(long);
        assert.equal(all.split("\n").filter((line) => line === "200000").length, 2);
        assert.equal(all.length, 2 * 1_288_895 + 4);
      }));

    it("has each byte in the output of its own run", () =>
      inSession(async (session) => {
        for (let number = 0; number < 30; number += 1) {
          const { output } = await session.run(`echo out${number}; echo err${number} >&2`);
          assert.deepEqual(output.split("\n").sort(), ["", `err${number}`, `out${number}`]);
        }
      }));

    it("has no prompts in its output, whatever a script sets", () =>
      inSession(async (session) => {
        const settings = ["PS1='(venv) '; PS2='> '", "PROMPT_COMMAND='echo PC'"];
        if (shell === "bash") settings.push("trap 'echo ERR' ERR; (exit 1)");
        for (const setting of settings) {
          await session.run(setting);
          assert.equal((await session.run("echo hi\necho ho")).output, "hi\nho\n", setting);
        }
      }));

    it("tells the true exit code whatever IFS is", () =>
      inSession(async (session) => {
        for (const [ifs, code] of Object.entries({ 1: 1, "0123456789": 37, 3: 130, 7: 127 })) {
          assert.equal((await session.run(`IFS=${ifs}; (exit ${code})`)).exitCode, code);
          assert.equal((await session.run(`(exit ${code})`)).exitCode, code);
        }
      }));

    it("is not fooled by what looks like its markers", () =>
      inSession(async (session) => {
        const fake = `printf '\\036%s:e0,0\\036' 00000000000000000000000000000000
          printf '\\036'; set -v; set -x; echo traced; echo "$(set)" >/dev/null`;
        let stdout = "";
        const { exitCode } = await session.run(fake, {
          onOutput: ({ type, output }) => (stdout += type === "stdout" ? output : ""),
        });
        assert.equal(exitCode, 0);
        assert.equal(stdout, `\x1e${"0".repeat(32)}:e0,0\x1e\x1etraced\n`);
        const { output: next } = await session.run("echo next; set +v; set +x");
        assert.match(next, /^next$/m);
        assert.deepEqual(await session.run("echo last"), { exitCode: 0, output: "last\n" });
      }));

    it("hides its markers from the script", () =>
      inSession(async (session) => {
        const look = `set; env; cat /proc/$$/cmdline /proc/$$/environ | tr '\\0' '\\n'
          ls -l /proc/self/fd | sed 's/.* \\([0-9]*\\) ->.*/fd \\1/'; read line || echo 'no stdin'`;
        const { output } = await session.run(look);
        assert.match(output, /no stdin/);
        assert.doesNotMatch(output, /[0-9a-f]{32}:|^fd [789]$/m);
      }));

    it("gives back its output when a script redirected it", () =>
      inSession(async (session) => {
        await session.run("FILE=$(mktemp)");
        const redirect = 'exec >"$FILE" 2>&1 8>/dev/null 9>&-; echo in the file';
        assert.deepEqual(await session.run(redirect), { exitCode: 0, output: "" });
        const { output } = await session.run('cat "$FILE"; rm "$FILE"; exec 1>&-');
        assert.equal(output, "in the file\n");
        assert.equal((await session.run("echo back")).output, "back\n");
      }));

    it("survives what a shell can't make sense of", () =>
      inSession(async (session) => {
        await session.run("KEPT=yes");
        for (const script of [
          "echo 'unbalanced",
          "if",
          "foo (",
          "echo $(",
          ")",
          "echo ${:bad}",
          ": ${unset_variable?must be set}",
          "readonly FIXED=1; FIXED=2",
        ]) {
          const { exitCode, output } = await session.run(script);
          assert.ok(exitCode > 0, script);
          assert.notEqual(output, "", script);
          assert.equal((await session.run("echo $KEPT")).output, "yes\n", script);
        }
        assert.equal((await session.run("nonexistent_command_xyz")).exitCode, 127);
        assert.equal((await session.run("return 4")).exitCode, 4);
        const { output } = await session.run("cat <<'EOF'\n$KEPT \"'\nEOF\n# a comment");
        assert.equal(output, "$KEPT \"'\n");
      }));

    it("takes a script of 2 MB, and none with NUL", () =>
      inSession(async (session) => {
        const text = "é'\\\n".repeat(500_000);
        const { output } = await session.run(`wc -c <<'EOF'\n${text}EOF`);
        assert.equal(Number(output), Buffer.byteLength(text));
        const error = await failure(session.run("echo a\0b"));
        assert.ok(error instanceof InvalidArgumentError);
        assert.match(error.message, /`script` must be text without NUL/);
        assert.equal((await session.run("echo on")).output, "on\n");
      }));

    it("is not held up by a job in the background", () =>
      inSession(async (session) => {
        assert.deepEqual(await session.run("sleep 1000 & echo started"), {
          exitCode: 0,
          output: "started\n",
        });
        const { output } = await session.run("kill -0 $! && echo runs; kill $!; wait; echo over");
        assert.match(output, /^runs\n(.*Terminated.*\n)?over\n$/);
      }));

    it("`set -e` ends the script and lasts no longer than that", () =>
      inSession(async (session) => {
        assert.equal((await session.run("set -e; true; echo fine")).output, "fine\n");
        assert.deepEqual(await session.run("false; echo on"), { exitCode: 0, output: "on\n" });
        assert.deepEqual(await session.run("set -e; echo a; (exit 6); echo b"), {
          exitCode: 6,
          output: "a\n",
        });
        const error = await failure(session.run("echo on"));
        assert.ok(error instanceof SessionError && error instanceof SandpipeError);
        assert.match(error.message, /ended with exit code 6 .*`set -e`.*sessions\.create\(\)/);
      }));

    it("is over when its shell ends, and says so", async () => {
      for (const [script, exitCode, output] of /** @type {const} */ ([
        ["echo bye; exit 3", 3, "bye\n"],
        ["exec sh -c 'echo other; exit 5'", 5, "other\n"],
        ["kill -KILL $$", 137, ""],
      ])) {
        await inSession(async (session) => {
          assert.deepEqual(await session.run(script), { exitCode, output });
          const error = await failure(session.run("echo on"));
          assert.ok(error instanceof SessionError, script);
          assert.equal(error.code, "session");
          assert.match(error.message, new RegExp(`this session is over: .*exit code ${exitCode}`));
          assert.equal((await sandbox.execs.get(error.execId)).exitCode, exitCode);
        });
      }
    });

    it("a run whose shell has ended meanwhile did not run", () =>
      inSession(async (session) => {
        const { output } = await session.run("(sleep 0.1; kill -KILL $$) & echo $$");
        await until(() => marked({}).every((pid) => pid !== output.trim()));
        const error = await failure(session.run("echo on"));
        assert.ok(error instanceof SessionError);
        assert.match(error.message, /ended with exit code 137 before this run/);
      }));

    it("interrupts a run whose time is over, and goes on", () =>
      inSession(async (session) => {
        await session.run("cd /; KEPT=yes");
        for (const script of [
          "echo begun; sleep 1000; echo not reached",
          "echo begun; while :; do :; done",
          "echo begun; for i in 1 2 3; do sleep 1000; done; echo not reached",
          "echo begun; (sleep 1000 | cat | cat); echo not reached",
        ]) {
          const error = await failure(session.run(script, { timeoutMs: 200 }));
          assert.ok(error instanceof TimeoutError, script);
          assert.deepEqual([error.exitCode, error.forced], [124, false], script);
          // A shell moves to a new line.
          assert.match(error.output, /^begun\n\n?$/);
          assert.equal((await session.run("pwd; echo $KEPT")).output, "/\nyes\n", script);
        }
      }));

    it("no part of a script is run that was interrupted while it was sent", () =>
      inSession(async (session) => {
        const { output } = await session.run('FILE=$(mktemp -u); echo "$FILE"');
        // As commands these lines would make the file; as the script has them they do not.
        const script = `cat >/dev/null <<'EOF'\n${'touch "$FILE"\n'.repeat(150_000)}EOF\nsleep 1000`;
        for (const timeoutMs of [0, 5, 10, 20, 40, 80]) {
          const error = await failure(session.run(script, { timeoutMs }));
          assert.ok(error instanceof TimeoutError);
          assert.equal((await session.run("echo on")).output, "on\n");
        }
        assert.equal(existsSync(output.trim()), false);
      }));

    it("interrupts a run that is aborted, with its reason", () =>
      inSession(async (session) => {
        const stop = new AbortController();
        const reason = new Error("enough");
        const running = session.run("echo begun; sleep 1000", {
          signal: stop.signal,
          onOutput: () => stop.abort(reason),
        });
        const error = await failure(running);
        assert.ok(error instanceof InterruptedError);
        assert.deepEqual([error.name, error.exitCode, error.forced], ["AbortError", 130, false]);
        assert.equal(error.cause, reason);
        assert.equal((await session.run("echo on")).output, "on\n");
      }));

    it("kills what ignores SIGINT, but not the shell", () =>
      inSession(async (session) => {
        await session.run("KEPT=yes");
        const stubborn = `sh -c "trap '' INT; echo begun; while :; do sleep 0.05; done"`;
        const late = await failure(session.run(stubborn, { timeoutMs: 200, graceMs: 100 }));
        assert.ok(late instanceof TimeoutError);
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
      }));

    it("is over when its shell itself can't be interrupted", () =>
      inSession(async (session) => {
        const script = "trap '' INT; echo begun; while :; do :; done";
        const error = await failure(session.run(script, { timeoutMs: 200, graceMs: 50 }));
        assert.ok(error instanceof TimeoutError);
        assert.deepEqual([error.forced, error.output], [true, "begun\n"]);
        const next = await failure(session.run("echo on"));
        assert.ok(next instanceof SessionError);
        assert.match(next.message, /could not be interrupted, and its shell was killed/);
      }));

    it("stops a script whose output is too long, or whose listener throws", () =>
      inSession(async (session) => {
        const error = await failure(session.run("yes", { maxOutputBytes: 5 }));
        assert.ok(error instanceof OutputLimitError);
        assert.equal(error.output, "y\ny\ny");
        const thrown = new Error("mine");
        const running = session.run("echo a; sleep 1000", {
          onOutput() {
            throw thrown;
          },
        });
        assert.equal(await failure(running), thrown);
        assert.equal((await session.run("echo on")).output, "on\n");
      }));

    it("runs one script at a time, in order", () =>
      inSession(async (session) => {
        const scripts = Array.from({ length: 10 }, (_, number) => `echo ${number}`);
        scripts[0] = "sleep 0.2; LIST=0; echo 0";
        const results = await Promise.all(scripts.map((script) => session.run(script)));
        assert.deepEqual(
          results.map(({ output }) => Number(output)),
          scripts.map((_, number) => number),
        );
      }));

    it("a run that is aborted in the queue never runs", () =>
      inSession(async (session) => {
        const stop = new AbortController();
        const first = session.run("sleep 0.3; echo first");
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
        assert.equal((await first).output, "first\n");
        assert.equal((await third).output, "not run\n");
      }));

    it("closes with everything in its group, also twice, and with runs under way", async () => {
      const mark = marker();
      const session = await sandbox.sessions.create({ shell, env: mark });
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
      assert.ok((await sandbox.execs.list()).every(({ command }) => command !== shell));
    });

    it("ends with its sandbox", async () => {
      const mark = marker();
      const other = await connect(agent);
      const session = await other.sessions.create({ shell, env: mark });
      await session.run("sleep 1000 &");
      const running = failure(session.run("sleep 1000"));
      other.close();
      assert.ok((await running) instanceof ClosedError);
      await until(() => marked(mark).length === 0);
      assert.ok((await failure(session.run("echo on"))) instanceof ClosedError);
      assert.ok((await failure(other.sessions.create())) instanceof ClosedError);
    });

    it("is a runtime that holds no connection while it is idle", async () => {
      let open = 0;
      const counting = await connect({
        ...agent,
        async fetch(input, init) {
          const response = await fetch(input, init);
          if (!String(input).includes("/stream/")) return response;
          open += 1;
          init?.signal?.addEventListener("abort", () => (open -= 1), { once: true });
          return response;
        },
      });
      /** @type {import("sandpipe").Runtime & AsyncDisposable} */
      const session = await counting.sessions.create({ shell });
      assert.equal(open, 0);
      assert.equal((await session.run("echo a")).output, "a\n");
      assert.equal(open, 0);
      await session[Symbol.asyncDispose]();
    });

    it("resumes its output where a connection broke", async () => {
      let cuts = 0;
      const breaking = await connect({
        ...agent,
        retry: { baseDelayMs: 1 },
        async fetch(input, init) {
          const response = await fetch(input, init);
          if (!String(input).includes("/stream/") || !response.body) return response;
          // Each connection ends when it has brought something.
          cuts += 1;
          const reader = response.body.getReader();
          const body = new ReadableStream({
            async pull(controller) {
              const { value, done } = await reader.read();
              if (!done) controller.enqueue(value);
              if (done || Buffer.from(value).includes("data:")) controller.close();
            },
            cancel: (reason) => reader.cancel(reason),
          });
          return new Response(body, response);
        },
      });
      const session = await breaking.sessions.create({ shell });
      for (let run = 0; run < 5; run += 1) {
        const { output } = await session.run("for i in 1 2 3 4 5; do echo $i; sleep 0.02; done");
        assert.equal(output, "1\n2\n3\n4\n5\n");
      }
      assert.ok(cuts > 5);
      await session.close();
    });

    it("a script that may have arrived is never sent again: the session is over", async () => {
      let arm = false;
      let sent = 0;
      const losing = await connect({
        ...agent,
        async fetch(input, init) {
          const response = await fetch(input, init);
          if (!arm || !String(init?.body).includes("touch")) return response;
          sent += 1;
          throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
        },
      });
      const mark = marker();
      const session = await losing.sessions.create({ shell, env: mark });
      arm = true;
      const error = await failure(session.run("touch /dev/null; sleep 1000"));
      assert.ok(error instanceof SandpipeError);
      assert.equal(error.code, "exit_code_missing");
      assert.match(error.message, /its input could not be delivered/);
      assert.equal(sent, 1);
      assert.deepEqual(marked(mark), [], "its shell was killed");
      assert.ok((await failure(session.run("echo on"))) instanceof SessionError);
      await session.close();
    });

    it("says why there is no session", async () => {
      /** @param {any} options */
      const refused = (options) => failure(sandbox.sessions.create(options));
      const before = (await sandbox.execs.list()).length;
      const missing = await refused({ shell: "/nonexistent/shell" });
      assert.ok(missing instanceof SessionError);
      assert.match(
        missing.message,
        /"\/nonexistent\/shell" could not be started \(127\): .*No such/,
      );
      const directory = await refused({ shell: "/tmp" });
      assert.match(directory.message, /"\/tmp" could not be started \(126\)/);
      const brief = await refused({ shell: "true" });
      assert.match(brief.message, /"true" ended with exit code 0 before it was ready/);
      const cwd = await refused({ cwd: "/nonexistent" });
      assert.ok(cwd instanceof HttpError && cwd.status === 400);
      for (const options of [{ shell: "" }, { shell: 1 }, { pty: true }, { cwd: 1 }, "bash"]) {
        assert.ok((await refused(options)) instanceof InvalidArgumentError);
      }
      assert.equal((await sandbox.execs.list()).length, before);
    });
  });
}
