// @ts-check
// What the program says and how it ends when it is told to stop.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { connect } from "sandpipe";
import { agent as program } from "../../scripts/project.mjs";
import { startTestAgent } from "../support/agent.mjs";
import { installWithProcesses } from "./background-processes.mjs";
import { firstLine } from "../support/first-line.mjs";
import { childrenOf, processesThat, until } from "../support/processes.mjs";

const { sandpipe, env, processes, start, remove } = await installWithProcesses();

const agent = await startTestAgent();
const sandbox = await connect(agent);
const { execs } = sandbox;
const atAgent = { env: { ...env, SANDPIPE_URL: agent.url, SANDPIPE_TOKEN: agent.token } };
after(async () => {
  await agent.stop();
  await remove();
});

const STOPPING = "sandpipe: stopping; Ctrl+C again to kill now\n";

/** Does not end on SIGTERM, and says that it was told. */
const STUBBORN = "trap 'echo refused' TERM; echo ready; while :; do sleep 0.05; done";

describe("Ctrl+C in a loop of a shell", () => {
  for (const shell of ["dash", "bash", "busybox sh"]) {
    for (const command of ["sandpipe run --", "sandpipe run --timeout 1000 -t --"]) {
      it(`ends the loop of ${shell} around \`${command}\``, async () => {
        const script = `for round in 1 2 3; do
          echo "round $round"; ${command} sh -c 'echo ready; sleep 1000'
        done; echo "the loop is over"`;
        const invocation = await sandpipe.startScriptInTerminal(shell, script, { env });
        await invocation.says("ready");
        invocation.stdin.write("\x03");
        let ended = false;
        void invocation.end.then(() => (ended = true));
        await until(() => ended || invocation.stdout.includes("round 2"));
        const rounds = invocation.stdout.match(/round \d|the loop is over/g);
        invocation.child.kill();
        assert.deepEqual(rounds, ["round 1"], invocation.stdout);
        assert.match(invocation.stdout, /stopping; Ctrl\+C again to kill now/);
        await invocation.willLeaveNothing();
      });
    }
  }
});

describe("sandpipe run, told to stop", () => {
  it("says so while the command still runs, then what became of it", async () => {
    const args = ["run", "--grace", "1000", "--", "sh", "-c", STUBBORN];
    const invocation = await sandpipe.start(args);
    await invocation.says("ready\n");
    invocation.child.kill("SIGINT");
    // The shell tells of its `sleep`, too, perhaps at once.
    await until(() => invocation.stderr.startsWith(STOPPING));
    assert.equal(invocation.child.exitCode ?? invocation.child.signalCode, null);
    invocation.child.kill("SIGINT");
    const { signal, stderr } = await invocation.end;
    assert.equal(signal, "SIGINT");
    const rest = stderr.slice(STOPPING.length);
    assert.match(rest, /^(Terminated\n)*sandpipe: the command: killed\.\n$/);
    await invocation.leavesNothing();
  });

  it("says of a command that does not end that it was killed", async () => {
    const args = ["run", "--grace", "0.5", "--", "sh", "-c", STUBBORN];
    const invocation = await sandpipe.start(args);
    await invocation.says("ready\n");
    invocation.child.kill("SIGINT");
    const { signal, stderr } = await invocation.end;
    assert.equal(signal, "SIGINT");
    assert.ok(stderr.startsWith(STOPPING), stderr);
    const rest = stderr.slice(STOPPING.length);
    const end = "sandpipe: the command: killed: it did not end within 0\\.5 s\\.\n";
    assert.match(rest, new RegExp(`^(Terminated\n)*${end}$`));
    await invocation.leavesNothing();
  });

  for (const [what, told, says, ends] of /** @type {const} */ ([
    [
      "is gone",
      "SIGKILL",
      /\nsandpipe: the command was stopped by its agent\.( some of the output may not be shown\.)?\n$/,
      [null, "SIGINT"],
    ],
    [
      "does not end",
      "SIGSTOP",
      /\nsandpipe: the command's own agent has not ended: .* still run\.\n$/,
      [125, null],
    ],
  ])) {
    it(`says what is certain where an agent of its own ${what}`, async () => {
      const script = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
      const run = ["run", "--grace", "1000", "--", "sh", "-c", script];
      const invocation = await sandpipe.start(run, { stopsClock: told === "SIGSTOP" });
      await invocation.says("ready\n");
      const own = Number(await invocation.find(program));
      invocation.child.kill("SIGINT");
      await until(() => invocation.stderr.startsWith(STOPPING));
      process.kill(own, told);
      invocation.child.kill("SIGINT");
      const end = await (told === "SIGSTOP" ? invocation.endInTime() : invocation.end);
      if (told === "SIGSTOP") process.kill(own, "SIGCONT");
      await until(() => invocation.processes().length === 0);
      assert.match(end.stderr, says);
      assert.deepEqual([end.exitCode, end.signal], ends);
    });
  }

  for (const [script, end] of /** @type {const} */ ([
    ["echo ready; exec sleep 1000", "stopped by SIGTERM"],
    ["trap 'exit 7' TERM; sh -c 'echo ready; exec sleep 1000' & wait", "it ended with exit code 7"],
  ])) {
    it(`names the exec at an agent that is named, and says: ${end}`, async () => {
      const invocation = await sandpipe.start(["run", "--", "sh", "-c", script], atAgent);
      await invocation.says("ready\n");
      const running = (await execs.list()).find(({ status }) => status === "RUNNING");
      invocation.child.kill("SIGTERM");
      const { signal, stderr } = await invocation.end;
      assert.equal(signal, "SIGTERM");
      assert.equal(stderr, `${STOPPING}sandpipe: exec ${running?.id}: ${end}.\n`);
    });
  }

  const skip = process.getuid?.() !== 0 && "only root can make a namespace of processes";
  it(
    "exits with 130 where nobody can see a signal, as the first process of a container",
    { skip },
    async () => {
      const run = ["run", "--", "sh", "-c", "echo ready; sleep 100"];
      const child = spawn("unshare", ["--fork", "--pid", sandpipe.program, ...run], {
        cwd: sandpipe.path,
        env: { ...process.env, ...atAgent.env },
        stdio: ["ignore", "pipe", "inherit"],
      });
      await firstLine(child);
      const [inner] = childrenOf(String(child.pid));
      process.kill(Number(inner), "SIGINT");
      const [exitCode, signal] = await once(child, "exit");
      assert.deepEqual([exitCode, signal], [130, null]);
    },
  );
});

describe("what only looks on or waits", () => {
  /** @type {[name: string, args: (id: string) => string[]][]} */
  const AT_AGENT = [
    ["logs -f", (id) => ["logs", "-f", id]],
    ["attach", (id) => ["attach", "--no-stdin", id]],
  ];
  for (const [name, args] of AT_AGENT) {
    for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) {
      it(`\`${name}\` dies of ${signal}, and the command goes on`, async () => {
        const script = ["-c", "echo ready; sleep 1000"];
        const { id } = await execs.create({ command: "sh", args: script });
        const invocation = await sandpipe.start(args(id), atAgent);
        await invocation.says("ready");
        invocation.child.kill(signal);
        const end = await invocation.end;
        assert.equal(end.signal, signal);
        assert.equal((await execs.get(id)).status, "RUNNING");
        await execs.delete(id);
      });
    }
  }

  for (const name of ["logs", "wait"]) {
    for (const place of ["this machine", "an agent"]) {
      it(`\`bg ${name}\` over ${place} dies of SIGINT, and leaves nothing of its own`, async () => {
        const [own, options] =
          place === "this machine" ? [processes, { env }] : [sandbox.background, atAgent];
        const { id } = await own.spawn("echo ready; sleep 1000");
        const before = (await execs.list()).map((exec) => exec.id);
        const args = name === "logs" ? ["logs", "-f"] : ["wait"];
        const invocation = await sandpipe.start(["bg", ...args, id], options);
        if (name === "logs") await invocation.says("ready");
        // A script that does not wait yet is none that could be left.
        const waits = async () => {
          // A list has only the beginning of a long script.
          const running = (await execs.list()).filter(({ status }) => status === "RUNNING");
          // One that was there for a moment is no longer known.
          const known = await Promise.allSettled(running.map(({ id }) => execs.get(id)));
          return known.some(
            (exec) => exec.status === "fulfilled" && exec.value.args.join().includes("while_read"),
          );
        };
        if (place === "an agent") await until(waits);
        invocation.child.kill("SIGINT");
        assert.equal((await invocation.end).signal, "SIGINT");
        await invocation.leavesNothing();
        const left = (await execs.list()).filter((exec) => !before.includes(exec.id));
        assert.deepEqual(left, []);
        assert.equal((await own.get(id)).status, "running");
        await own.terminate(id);
      });
    }
  }

  it("`bg logs -f` that is killed leaves a script that ends by itself, before its wait is over", async () => {
    const id = await start("echo ready; sleep 1000");
    // A read waits for 20 s on its target. Here it waits for ever.
    const bin = await mkdtemp(join(tmpdir(), "sandpipe-test-"));
    const shell = `#!/bin/sh
      for word; do
        shift
        word=$(printf %s. "$word" | sed 's/^wait=[0-9]*$/wait=2147483647/')
        set -- "$@" "\${word%.}"
      done
      exec /bin/sh "$@"\n`;
    await writeFile(join(bin, "sh"), shell, { mode: 0o755 });
    const patient = { env: { ...env, PATH: `${bin}:${process.env["PATH"]}` } };
    const invocation = await sandpipe.start(["bg", "logs", "-f", id], patient);
    await invocation.says("ready");
    await until(() =>
      processesThat((pid) => {
        const script = readFileSync(`/proc/${pid}/cmdline`, "latin1");
        return script.includes("wait=2147483647") && script.includes(id);
      }).some((pid) => invocation.processes().includes(Number(pid))),
    );
    invocation.child.kill("SIGKILL");
    await invocation.willLeaveNothing();
    await processes.terminate(id);
    await rm(bin, { recursive: true });
  });
});

describe("sandpipe stop, told to stop", () => {
  it("goes on, says what became of each, and dies of it in the end", async () => {
    const script = ["-c", STUBBORN];
    const { id } = await execs.create({ command: "sh", args: script });
    await until(async () => (await execs.getOutput(id)).output === "ready\n");
    const invocation = await sandpipe.start(["stop", "--grace", "1000", id], atAgent);
    await until(async () => (await execs.getOutput(id)).output.includes("refused"));
    invocation.child.kill("SIGINT");
    await until(() => invocation.stderr !== "");
    assert.equal(invocation.stderr, STOPPING);
    invocation.child.kill("SIGINT");
    const { signal, stderr } = await invocation.end;
    assert.equal(signal, "SIGINT");
    assert.equal(stderr, `${STOPPING}sandpipe: ${id}: killed.\n`);
  });
});

describe("sandpipe agent, told to stop", () => {
  for (const [told, end] of /** @type {const} */ ([
    ["SIGINT", { exitCode: null, signal: "SIGINT" }],
    ["SIGTERM", { exitCode: 0, signal: null }],
  ])) {
    it(`ends by ${told} as who sends it expects`, async () => {
      const state = join(sandpipe.path, `state-${randomUUID()}`);
      const flags = ["--listen", "127.0.0.1:0", "--state-dir", state, "--ephemeral"];
      const invocation = await sandpipe.start(["agent", "--", ...flags]);
      await invocation.says("stops it with all that it runs");
      invocation.child.kill(told);
      const { exitCode, signal, stderr } = await invocation.end;
      assert.deepEqual({ exitCode, signal }, end);
      assert.match(stderr, /stopping; Ctrl\+C again to kill now\n[^]*the agent has ended/);
      await invocation.leavesNothing();
    });
  }
});
