// Stopping: what is told to stop stops, with everything that it has started. Each case is run
// against an agent with its extensions and against a plain one.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect as connectSocket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import {
  connect,
  HttpError,
  InterruptedError,
  OutputLimitError,
  SandpipeError,
  TimeoutError,
  UnsupportedError,
} from "sandpipe";
import { startAgent } from "sandpipe/node";

import { idsOfAgent, marked, marker, until, zombies } from "../support/processes.mjs";

/** @typedef {import("sandpipe").ExecOptions} ExecOptions */

const IGNORES_TERM = "trap '' TERM; echo ready; while :; do sleep 0.05; done";

for (const [kind, args] of /** @type {const} */ ([
  ["an agent with its extensions", []],
  ["a plain agent", ["--without", "all"]],
])) {
  describe(`stopping, with ${kind}`, () => {
    const plain = args.length > 0;
    /** @type {Awaited<ReturnType<typeof startAgent>>} */
    let agent;
    /** @type {import("sandpipe").Execs} */
    let execs;
    /** @type {Awaited<ReturnType<typeof idsOfAgent>>} */
    let ids;

    before(async () => {
      agent = await startAgent({ args });
      ({ execs } = await connect(agent));
      ids = await idsOfAgent((script) => execs.exec("sh", ["-c", script]));
    });
    after(() => agent.stop());

    /**
     * Runs a script, and stops it when it has printed `ready`. Afterwards nothing of it is left.
     *
     * @param {string} script
     * @param {(stop: AbortController, force: AbortController) => void} act
     * @param {ExecOptions} [options]
     * @param {import("sandpipe").Execs} [client] of the same agent
     */
    const interrupt = async (script, act, options = {}, client = execs) => {
      const mark = marker();
      const stop = new AbortController();
      const force = new AbortController();
      let seen = "";
      const running = client.exec("sh", ["-c", script], {
        env: mark,
        signal: stop.signal,
        forceSignal: force.signal,
        ...options,
        onOutput({ output }) {
          const before = seen.includes("ready");
          seen += output;
          if (!before && seen.includes("ready")) act(stop, force);
        },
      });
      const error = await running.then(
        (result) => assert.fail(`it ended with ${JSON.stringify(result)}`),
        (error) => error,
      );
      assert.deepEqual(marked(mark), [], "no process is left");
      assert.deepEqual([...zombies(ids.box), ...zombies(ids.agent)], [], "nor a zombie");
      return error;
    };

    it("ends a command by SIGTERM and says so", async () => {
      const reason = new Error("enough");
      const error = await interrupt("echo ready; exec sleep 1000", (stop) => stop.abort(reason));
      assert.ok(error instanceof InterruptedError && error instanceof SandpipeError);
      assert.deepEqual(
        [error.name, error.code, error.exitCode, error.forced, error.output],
        ["AbortError", "interrupted", 130, false, "ready\n"],
      );
      assert.equal(error.cause, reason);
      assert.equal((await execs.get(error.execId ?? "")).exitCode, 143);
    });

    it("lets a command tidy up, and has its last words", async () => {
      const script = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
      const error = await interrupt(script, (stop) => stop.abort());
      assert.deepEqual([error.exitCode, error.forced], [130, false]);
      // The shell may report that its own child was terminated, too.
      assert.match(error.output, /^ready\n(Terminated\n)?bye\n$/);
    });

    it("kills what ignores SIGTERM when the grace period is over", async () => {
      const error = await interrupt(IGNORES_TERM, (stop) => stop.abort(), { graceMs: 200 });
      assert.deepEqual([error.code, error.exitCode, error.forced], ["interrupted", 130, true]);
    });

    it("kills at once when forced", async () => {
      const error = await interrupt(IGNORES_TERM, (_, force) => force.abort());
      assert.deepEqual([error.code, error.exitCode, error.forced], ["interrupted", 130, true]);
    });

    it("kills at once when forced during the grace period", async () => {
      const script = "trap 'echo told' TERM; echo ready; while :; do sleep 0.05; done";
      let told = "";
      const force = new AbortController();
      const error = await interrupt(
        script,
        async (stop) => {
          stop.abort();
          const { execs: others } = await connect(agent);
          const exec = (await others.list()).find((one) => one.args[1] === script);
          for await (const { output } of others.streamOutput(exec?.id ?? "")) {
            told += output;
            if (told.includes("told")) break;
          }
          force.abort();
        },
        { forceSignal: force.signal },
      );
      assert.deepEqual([error.exitCode, error.forced], [130, true]);
      assert.match(error.output, /told/);
    });

    it("stops a command whose time is over", async () => {
      const mark = marker();
      const running = execs.exec("sh", ["-c", "echo a; sleep 1000"], { env: mark, timeoutMs: 300 });
      await assert.rejects(running, (error) => {
        assert.ok(error instanceof TimeoutError && error.name === "TimeoutError");
        assert.deepEqual([error.code, error.exitCode, error.forced], ["timeout", 124, false]);
        // The time may be over before it has printed.
        assert.ok("a\n".startsWith(String(error.output)));
        assert.match(error.message, /timed out after 300 ms/);
        return true;
      });
      assert.deepEqual(marked(mark), []);
    });

    it("kills what ignores SIGTERM when its time is over, too", async () => {
      let ready = () => {};
      const isReady = new Promise((resolve) => (ready = () => resolve(undefined)));
      // Its time may be over before it ignores SIGTERM: that is sent no sooner than it does.
      const { execs: late } = await connect({
        ...agent,
        async fetch(input, init) {
          if (/"(SIG)?TERM"/.test(String(init?.body))) await isReady;
          return fetch(input, init);
        },
      });
      const times = { timeoutMs: 300, graceMs: 100 };
      const error = await interrupt(IGNORES_TERM, () => ready(), times, late);
      assert.deepEqual([error.code, error.exitCode, error.forced], ["timeout", 124, true]);
      assert.equal(error.output, "ready\n");
    });

    it("runs nothing when the signal has been aborted before", async () => {
      const before = (await execs.list()).length;
      for (const option of ["signal", "forceSignal"]) {
        const running = execs.exec("true", [], { [option]: AbortSignal.abort("no") });
        await assert.rejects(running, (error) => {
          assert.ok(error instanceof InterruptedError);
          assert.deepEqual([error.execId, error.output, error.cause], [undefined, "", "no"]);
          assert.equal(error.message, "interrupted");
          return true;
        });
      }
      assert.equal((await execs.list()).length, before);
    });

    it("ends children, grandchildren and background jobs with it", async () => {
      const script = `
        sh -c 'sleep 1000 & sh -c "sleep 1000 & wait" & wait' &
        sleep 1000 &
        (trap '' TERM; echo ready; while :; do sleep 0.05; done) &
        wait`;
      const error = await interrupt(script, (stop) => stop.abort(), { graceMs: 300 });
      assert.equal(error.exitCode, 130);
      assert.equal(error.forced, true, "one of them ignores SIGTERM");
    });

    it("ends a command in a terminal with its jobs", async () => {
      const script = "sleep 1000 & sh -c 'sleep 1000' & echo ready; wait";
      const error = await interrupt(script, (stop) => stop.abort(), { pty: true });
      assert.equal(error.exitCode, 130);
      const stubborn = await interrupt(IGNORES_TERM, (stop) => stop.abort(), {
        pty: true,
        graceMs: 200,
      });
      assert.equal(stubborn.forced, true);
    });

    it("ends a command that is stopped", async () => {
      const script =
        "trap 'echo bye; exit 0' TERM; echo ready; kill -STOP $$; while :; do sleep 0.05; done";
      const error = await interrupt(script, (stop) => stop.abort());
      assert.deepEqual([error.exitCode, error.forced], [130, false]);
      assert.match(error.output, /^ready\n(Terminated\n)?bye\n$/);
      const killed = await interrupt(script, (_, force) => force.abort());
      assert.equal(killed.forced, true);
    });

    it("stops a server with a child within the grace period and frees its port", async () => {
      const server = `
        require("node:child_process").spawn("sleep", ["1000"]);
        const server = require("node:http").createServer((_, response) => response.end("ok"));
        server.listen(0, "127.0.0.1", () => console.log("ready", server.address().port));
        process.on("SIGTERM", () => { server.close(); process.exit(0); });`;
      const mark = marker();
      const { id } = await execs.create({
        command: process.execPath,
        args: ["-e", server],
        env: mark,
      });
      let port = 0;
      for await (const { output } of execs.streamOutput(id)) {
        port = Number(/ready (\d+)/.exec(output)?.[1]);
        if (port > 0) break;
      }
      assert.equal(await (await fetch(`http://127.0.0.1:${port}`)).text(), "ok");
      assert.deepEqual(await execs.terminate(id), { exitCode: 0, forced: false });
      assert.deepEqual(marked(mark), []);
      const socket = connectSocket(port, "127.0.0.1");
      const [error] = await once(socket, "error");
      assert.equal(error.code, "ECONNREFUSED");
    });

    it("terminates an exec, also twice at once, and after its end", async () => {
      const mark = marker();
      const { id } = await execs.create({
        command: "sh",
        args: ["-c", "sleep 1000 & wait"],
        env: mark,
      });
      const results = await Promise.all([execs.terminate(id), execs.terminate(id)]);
      assert.deepEqual(results, [
        { exitCode: 143, forced: false },
        { exitCode: 143, forced: false },
      ]);
      assert.deepEqual(marked(mark), []);
      assert.deepEqual(await execs.terminate(id), { exitCode: 143, forced: false });
    });

    it("terminates by force when that is wanted, or the grace period is over", async () => {
      const stubborn = () => execs.create({ command: "sh", args: ["-c", IGNORES_TERM] });
      const ready = async (/** @type {string} */ id) => {
        for await (const { output } of execs.streamOutput(id)) if (output.includes("ready")) break;
      };
      const first = await stubborn();
      await ready(first.id);
      assert.deepEqual(await execs.terminate(first.id, { graceMs: 100 }), {
        exitCode: 137,
        forced: true,
      });
      const second = await stubborn();
      await ready(second.id);
      const forceSignal = AbortSignal.timeout(100);
      assert.deepEqual(await execs.terminate(second.id, { forceSignal }), {
        exitCode: 137,
        forced: true,
      });
    });

    const only = plain && "only where the agent tells whose the number of an ended process is";
    it("ends what outlived a command that has exited", { skip: only }, async () => {
      const mark = marker();
      const { id } = await execs.create({
        command: "sh",
        args: ["-c", "sleep 1000 & exit 5"],
        env: mark,
      });
      assert.equal((await execs.wait(id)).exitCode, 5);
      assert.equal(marked(mark).length, 1);
      assert.deepEqual(await execs.terminate(id), { exitCode: 5, forced: false });
      assert.deepEqual(marked(mark), []);
    });

    it("sends any signal to the group, and says when there is none to send it to", async () => {
      const script =
        "trap 'echo usr1' USR1; trap 'exit 3' USR2; echo ready; while :; do sleep 0.05; done";
      const { id } = await execs.create({ command: "sh", args: ["-c", script] });
      for await (const { output, exitCode } of execs.streamOutput(id)) {
        if (output === "ready\n") await execs.kill(id, "SIGUSR1");
        if (output === "usr1\n") await execs.kill(id, "SIGUSR2");
        if (exitCode !== undefined) assert.equal(exitCode, 3);
      }
      await until(async () => (await execs.get(id)).status !== "RUNNING");
      await assert.rejects(
        execs.kill(id),
        (error) => error instanceof HttpError && error.status === 409,
      );
    });

    it("stops a command that says too much, with the first part of it", async () => {
      const mark = marker();
      // Less than the agent keeps: nothing is lost where it is read late.
      const script = "yes é | head -c 10000000; exec sleep 1000";
      const running = execs.exec("sh", ["-c", script], { env: mark, maxOutputBytes: 100_000 });
      await assert.rejects(running, (error) => {
        assert.ok(error instanceof OutputLimitError);
        assert.equal(error.output, "é\n".repeat(33_333));
        assert.match(error.message, /`maxOutputBytes` allows \(100000 bytes\)/);
        return true;
      });
      assert.deepEqual(marked(mark), []);
      const exact = await execs.exec("printf", ["12345"], { maxOutputBytes: 5 });
      assert.equal(exact.output, "12345");
    });

    it("closes a stdin where the agent can, and says so where it can't", async () => {
      const { id } = await execs.create({ command: "cat", args: [] });
      await execs.sendStdin(id, { input: "a" });
      const end = execs.sendStdin(id, { type: "eof", input: "" });
      if (plain) {
        await assert.rejects(
          end,
          (error) => error instanceof UnsupportedError && error.feature === "stdin-eof",
        );
        await assert.rejects(execs.exec("cat", [], { input: "a" }), UnsupportedError);
        await execs.terminate(id);
        return;
      }
      await end;
      assert.deepEqual({ ...(await execs.wait(id)) }, { exitCode: 0, output: "a" });
    });

    it(
      "feeds input to a command",
      { skip: plain && "only where the agent can end it" },
      async () => {
        const input = "é 😀\n".repeat(300_000);
        const { exitCode, output } = await execs.exec("cat", [], { input });
        assert.equal(exitCode, 0);
        assert.ok(output === input);
        assert.deepEqual(
          { ...(await execs.exec("head", ["-c", "3"], { input })) },
          {
            exitCode: 0,
            output: "é ",
          },
        );
        assert.deepEqual(
          { ...(await execs.exec("cat", [], { input: "" })) },
          { exitCode: 0, output: "" },
        );
      },
    );
  });
}

describe("a stop that the agent refuses", () => {
  it("is told at once, whatever the grace period", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sandpipe-test-"));
    const file = join(folder, "token");
    const token = "a-token-that-may-only-look-on-0123456789";
    await writeFile(file, token, { mode: 0o600 });
    const agent = await startAgent({ args: ["--readonly-token-file", file] });
    try {
      const { execs } = await connect(agent);
      const { id } = await execs.create({ command: "sleep", args: ["1000"] });
      const looker = await connect({ url: agent.url, token });
      await assert.rejects(
        looker.execs.terminate(id, { graceMs: 3_600_000 }),
        (error) => error instanceof HttpError && error.status === 403,
      );
    } finally {
      await agent.stop();
      await rm(folder, { recursive: true });
    }
  });
});
