// @ts-check
// `sandpipe run`: what stops a command, and that nothing is left of it.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { installSandpipe } from "../support/installed-cli.mjs";
import { until } from "../support/processes.mjs";

const sandpipe = await installSandpipe();
after(() => sandpipe.remove());

/**
 * Ends on SIGTERM, with last words, and has a child: that says that it is ready, since a signal that comes between its fork(2) and its
 * execve(2) is lost in the handler that it has from its parent.
 */
const TIDY = `trap 'echo bye; exit 7' TERM; sh -c 'echo ready; exec sleep 1000' & wait`;

/** Does not end on SIGTERM, nor does its child; it says so. */
const STUBBORN = `sh -c "trap '' TERM; while :; do sleep 0.05; done" &
  trap 'echo refused' TERM; echo ready; while :; do sleep 0.05; done`;

/** What it says up to the end of a grace period, in which its shell need not get to it. */
const MAYBE_REFUSED = /^ready\n(refused\n)?$/;

const STOPPING = "sandpipe: stopping; Ctrl+C again to kill now\n";

/** How it ends by a signal: it dies of it, but of SIGQUIT, which would leave a memory dump. @param {string} signal */
const endBy = (signal) =>
  signal === "SIGQUIT" ? { exitCode: 131, signal: null } : { exitCode: null, signal };

/**
 * @param {string} script
 * @param {string[]} options
 */
async function start(script, ...options) {
  const run = ["run", ...options, "--", "sh", "-c", script];
  const invocation = await sandpipe.start(run, { stopsClock: options.includes("--timeout") });
  await invocation.says("ready\n");
  return invocation;
}

/** More than the pipe to the test holds. */
const MUCH = "head -c 4000000 /dev/zero; exec tail -f /dev/null";

/** Starts a command that has written more than the pipe to the test holds, which nobody reads. @param {string[]} options */
async function startUnread(...options) {
  const go = join(sandpipe.path, `go-${randomUUID()}`);
  const script = `echo ready; until [ -e '${go}' ]; do sleep 0.05; done; ${MUCH}`;
  const invocation = await start(script, ...options);
  invocation.child.stdout.pause();
  await writeFile(go, "");
  await until(async () => (await invocation.find("tail")) !== undefined);
  return invocation;
}

describe("sandpipe run, told to stop", () => {
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])) {
    it(`lets the command end on ${signal}, and shows its last words`, async () => {
      const invocation = await start(TIDY);
      invocation.child.kill(signal);
      const stderr = `${STOPPING}sandpipe: the command: it ended with exit code 7.\n`;
      const end = { ...endBy(signal), stdout: "ready\nbye\n", stderr };
      assert.deepEqual(await invocation.end, end);
      await invocation.leavesNothing();
    });

    it(`kills a command that does not end within the grace period after ${signal}`, async () => {
      const invocation = await start(STUBBORN, "--grace", "0.5");
      invocation.child.kill(signal);
      const { stderr, ...end } = await invocation.end;
      assert.match(end.stdout, MAYBE_REFUSED);
      assert.deepEqual(end, { ...endBy(signal), stdout: end.stdout });
      assert.match(stderr, /\nsandpipe: the command: killed: it did not end within 0\.5 s\.\n$/);
      await invocation.leavesNothing();
    });
  }

  it("kills the command on the second signal", async () => {
    const invocation = await start(STUBBORN, "--grace", "1000");
    invocation.child.kill("SIGINT");
    await invocation.says("refused\n");
    invocation.child.kill("SIGINT");
    const { stderr, ...end } = await invocation.end;
    assert.deepEqual(end, { ...endBy("SIGINT"), stdout: "ready\nrefused\n" });
    assert.match(stderr, /\nsandpipe: the command: killed\.\n$/);
    await invocation.leavesNothing();
  });

  it("stops a command that is suspended", async () => {
    const invocation = await start("echo ready; kill -STOP $$");
    invocation.child.kill("SIGINT");
    assert.equal((await invocation.end).signal, "SIGINT");
    await invocation.leavesNothing();
  });

  it("kills the jobs that a command left when they do not end in time", async () => {
    const job = "trap '' TERM; echo > ready; while :; do sleep 0.05; done";
    const script = `mkfifo ready; sh -c "${job}" & read ready < ready; exit 3`;
    const { exitCode } = await sandpipe.run(["run", "--grace", "0.5", "--", "sh", "-c", script]);
    assert.equal(exitCode, 3);
  });

  it("leaves nothing when it is killed itself", async () => {
    const invocation = await start(TIDY);
    invocation.child.kill("SIGKILL");
    assert.equal((await invocation.end).signal, "SIGKILL");
    await invocation.willLeaveNothing();
  });

  it("gives the output up that nobody takes within the grace period, and says so", async () => {
    const invocation = await startUnread("--grace", "0.5");
    invocation.child.kill("SIGTERM");
    const [, signal] = await once(invocation.child, "exit");
    invocation.child.stdout.destroy();
    assert.equal(signal, "SIGTERM");
    const { stderr } = await invocation.end;
    assert.match(stderr, /\nsandpipe: .* some of the output is not shown: nobody reads it\.\n$/);
    await invocation.leavesNothing();
  });

  it("gives up output that is not taken at the second signal, and says so", async () => {
    const invocation = await startUnread();
    invocation.child.kill("SIGTERM");
    await invocation.ends("tail");
    invocation.child.kill("SIGTERM");
    const [, signal] = await once(invocation.child, "exit");
    invocation.child.stdout.destroy();
    assert.equal(signal, "SIGTERM");
    assert.match(
      (await invocation.end).stderr,
      /\nsandpipe: .* some of the output is not shown\.\n$/,
    );
    await invocation.leavesNothing();
  });

  it("ends at the second signal where the agent does not answer", async () => {
    const silent = createServer();
    const connected = once(silent, "connection");
    await once(silent.listen(0, "127.0.0.1"), "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (silent.address());
    const invocation = await sandpipe.start(["run", "--url", `http://127.0.0.1:${port}`, "true"]);
    const [connection] = await connected;
    invocation.child.kill("SIGINT");
    invocation.child.kill("SIGTERM");
    const { signal, stderr } = await invocation.end;
    connection.destroy();
    silent.close();
    assert.ok(signal === "SIGINT" || signal === "SIGTERM", String(signal));
    assert.match(stderr, /\nsandpipe: .*may have been started.*\n$/);
  });
});

describe("sandpipe run, its output closed", () => {
  /** Writes more than the pipe to `head` holds, but less than the agent keeps: all of it may be there before the stream is. */
  const lasting = "sandpipe run -- sh -c 'seq 1000000; exec sleep 1000'";

  it("stops the command, silently", async () => {
    const script = `{ ${lasting}; echo $? >&2; } | head -1`;
    const invocation = await sandpipe.startInShell(script);
    const { stdout, stderr } = await invocation.end;
    assert.deepEqual({ stdout, stderr }, { stdout: "1\n", stderr: "141\n" });
    await invocation.leavesNothing();
  });

  it("does not wait for more output to notice", async () => {
    const script = "echo ready; until [ -e closed ]; do sleep 0.05; done; echo more; sleep 1000";
    const invocation = await start(script, "--cwd", sandpipe.path);
    invocation.child.stdout.destroy();
    await writeFile(join(sandpipe.path, "closed"), "");
    assert.equal((await invocation.end).exitCode, 141);
    await invocation.leavesNothing();
  });

  it("stops the command with the reason when the output can't be written", async () => {
    const invocation = await sandpipe.startInShell(`${lasting} > /dev/full`);
    const { exitCode, stderr } = await invocation.end;
    assert.equal(exitCode, 125);
    assert.match(stderr, /^sandpipe: the output can't be written: ENOSPC.*\n$/);
    await invocation.leavesNothing();
  });
});

describe("sandpipe run, with a timeout", () => {
  it("stops the command with 124, and says so", async () => {
    const invocation = await start(TIDY, "--timeout", "10");
    await invocation.timePasses();
    assert.deepEqual(await invocation.end, {
      ...{ exitCode: 124, signal: null, stdout: "ready\nbye\n" },
      stderr: "sandpipe: the command was stopped: 10 s (--timeout) have passed.\n",
    });
    await invocation.leavesNothing();
  });

  it("kills one that does not end within the grace period", async () => {
    const invocation = await start(STUBBORN, "--timeout", "10", "--grace", "0.5");
    await invocation.timePasses();
    const { exitCode, stdout } = await invocation.end;
    assert.equal(exitCode, 124);
    assert.match(stdout, MAYBE_REFUSED);
    await invocation.leavesNothing();
  });

  it("tells of output that nobody takes beside the timeout", async () => {
    const invocation = await startUnread("--timeout", "10", "--grace", "0.5");
    const exit = once(invocation.child, "exit");
    await invocation.timePasses();
    const [exitCode] = await exit;
    invocation.child.stdout.destroy();
    assert.equal(exitCode, 124);
    const { stderr } = await invocation.end;
    assert.match(stderr, /^sandpipe: .*10 s \(--timeout\) have passed\. .*not shown: nobody reads/);
    await invocation.leavesNothing();
  });

  it("kills it at a signal during the grace period", async () => {
    const invocation = await start(STUBBORN, "--timeout", "10", "--grace", "1000");
    await invocation.timePasses();
    await invocation.says("refused\n");
    invocation.child.kill("SIGINT");
    assert.equal((await invocation.end).exitCode, 124);
    await invocation.leavesNothing();
  });

  it("does not hold up a command that ends before", async () => {
    const { exitCode, stderr } = await sandpipe.run(["run", "--timeout", "1000", "true"]);
    assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: "" });
  });
});
