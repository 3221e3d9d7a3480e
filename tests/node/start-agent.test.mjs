// startAgent(): the embedded agent lives and ends with its parent.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";

import { AgentError, connect, HttpError, InvalidArgumentError } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { agent as builtAgent } from "../../scripts/project.mjs";
import { firstLine } from "../support/first-line.mjs";
import { until } from "../support/processes.mjs";

/** The turn of this process's event loop. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("startAgent", () => {
  it("runs an agent and stops it with its commands, once", async () => {
    const agent = await startAgent();
    assert.match(agent.url, /^http:\/\/127\.0\.0\.1:\d+$/);
    const { execs } = await connect(agent);
    const { pid } = await execs.create({ command: "sleep", args: ["1000"] });
    assert.ok(existsSync(`/proc/${pid}`));
    await Promise.all([agent.stop(), agent.stop()]);
    assert.ok(!existsSync(`/proc/${pid}`));
    await assert.rejects(
      execs.list(),
      (error) => error instanceof HttpError && error.code === "network",
    );
    await agent.stop();
  });

  it("holds its parent until it is gone, also where its pipes end later", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sandpipe-test-"));
    const wrapper = join(folder, "agent");
    const agent = process.env["SANDPIPE_AGENT"] ?? builtAgent;
    // Its stdout and stderr are still held a while after its end.
    await writeFile(wrapper, `#!/bin/sh\nsleep 1 &\nexec '${agent}' "$@"\n`, { mode: 0o755 });
    const script = `
      import { startAgent } from "sandpipe/node";
      await (await startAgent()).stop();
      console.log("stopped");`;
    const parent = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      cwd: import.meta.dirname,
      env: { ...process.env, SANDPIPE_AGENT: wrapper },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    parent.stdout.on("data", (text) => (said += text));
    const [exitCode] = await once(parent, "close");
    assert.deepEqual([said, exitCode], ["stopped\n", 0]);
    await rm(folder, { recursive: true });
  });

  it("runs commands in the workspace that it is told", async () => {
    const agent = await startAgent({ workspace: "/usr" });
    try {
      const { execs } = await connect(agent);
      assert.equal((await execs.exec("pwd")).output, "/usr\n");
    } finally {
      await agent.stop();
    }
  });

  it("ends with a parent that is killed, and leaves no process and no file", async () => {
    const temporary = await mkdtemp(join(tmpdir(), "sandpipe-test-"));
    const script = `
      import { connect } from "sandpipe";
      import { startAgent } from "sandpipe/node";
      import { idsOfAgent } from "../support/processes.mjs";
      const { execs } = await connect(await startAgent());
      const ids = await idsOfAgent((script) => execs.exec("sh", ["-c", script]));
      const { pid } = await execs.create({ command: "sleep", args: ["1000"] });
      console.log(JSON.stringify([ids.agent, ids.box, pid]));
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      cwd: import.meta.dirname,
      env: { ...process.env, TMPDIR: temporary },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const pids = JSON.parse(await firstLine(parent));
    assert.deepEqual(
      pids.map((/** @type {number} */ pid) => existsSync(`/proc/${pid}`)),
      [true, true, true],
    );
    parent.kill("SIGKILL");
    await until(() => pids.every((/** @type {number} */ pid) => !existsSync(`/proc/${pid}`)));
    assert.deepEqual(readdirSync(temporary), []);
    await rm(temporary, { recursive: true });
  });

  it("does not keep its parent alive", async () => {
    const script = `import { startAgent } from "sandpipe/node"; await startAgent();`;
    const parent = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      cwd: import.meta.dirname,
      stdio: "inherit",
    });
    assert.deepEqual(await once(parent, "exit"), [0, null]);
  });

  it("refuses options that would have no effect", async () => {
    for (const [wrong, shown] of /** @type {[any, string][]} */ ([
      [{ polciy: "strict" }, 'one with "polciy": did you mean `policy`?'],
      [{ extends: ["strict"] }, 'one with "extends"'],
      ["strict", 'the string "strict"'],
      [null, "null"],
      [["strict"], "an array"],
    ])) {
      await assert.rejects(startAgent(wrong), (error) => {
        assert.ok(error instanceof InvalidArgumentError);
        assert.match(
          error.message,
          /^`options` must be an object with no other fields than image, /,
        );
        assert.ok(error.message.endsWith(`, but is ${shown}`), error.message);
        return true;
      });
    }
  });

  it("lets the agent say what is wrong with its options", async () => {
    await assert.rejects(startAgent({ workspace: "/no/such/directory" }), (error) => {
      assert.ok(error instanceof AgentError);
      assert.match(
        error.message,
        /^The agent did not start: (?!sandpipe-agent).*\/no\/such\/directory/,
      );
      assert.equal(error.hint, undefined);
      return true;
    });
    await assert.rejects(startAgent({ args: ["--walk"] }), (error) => {
      assert.ok(error instanceof AgentError);
      assert.match(error.message, /^The agent did not start: error: .*--walk/);
      assert.equal(error.hint, undefined);
      return true;
    });
  });
});

describe("startAgent, of another program, says which it is and what to do where it is no agent", () => {
  /** @type {string} */
  let folder;
  const before = process.env["SANDPIPE_AGENT"];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "sandpipe-test-"));
  });

  afterEach(async () => {
    if (before === undefined) delete process.env["SANDPIPE_AGENT"];
    else process.env["SANDPIPE_AGENT"] = before;
    await rm(folder, { recursive: true });
  });

  /**
   * @param {string} name @param {string} content
   * @returns {Promise<string>} its path
   */
  async function program(name, content) {
    const file = join(folder, name);
    await writeFile(file, content, { mode: 0o755 });
    return file;
  }

  /** @param {string} file @param {RegExp} says */
  async function assertRejected(file, says) {
    process.env["SANDPIPE_AGENT"] = file;
    await assert.rejects(startAgent(), (error) => {
      assert.ok(error instanceof AgentError);
      assert.ok(error.message.startsWith(`${file} `), error.message);
      assert.match(error.message, says);
      assert.match(error.hint ?? "", /SANDPIPE_AGENT names it/);
      assert.ok(error.message.endsWith(`. ${error.hint}`), error.message);
      return true;
    });
  }

  it("it is missing", () => assertRejected("/no/such/agent", /could not be run: .*ENOENT/));

  // The system's loader refuses it, and a shell is given it.
  it("it is of another format", async () =>
    assertRejected(
      await program("foreign", "\x7fELF\x02\x01\x01\n)\n"),
      /ended before it listened, with exit code [1-9]\d*: .*foreign: /,
    ));

  it("it ends without a word", () =>
    assertRejected("/bin/false", /ended before it listened, with exit code 1: it said nothing/));

  it("it prints something else", () =>
    assertRejected("/bin/echo", /did not say where it listens, but: --until-stdin-closes/));

  it("it takes no notice of SIGTERM, and what it has started holds its pipes", async () => {
    const pids = join(folder, "pids");
    await assertRejected(
      await program(
        "stubborn",
        `#!/bin/sh\ntrap "" TERM\nsetsid sleep 1000 &\necho $$ $! > '${pids}'\n` +
          // Until it leads a session it is killed with this group.
          'until [ "$(cut -d" " -f6 /proc/$!/stat)" = $! ]; do sleep 0.01; done\n' +
          "echo hello\nwhile :; do sleep 0.1; done\n",
      ),
      /did not say where it listens, but: hello/,
    );
    const [own = 0, other = 0] = readFileSync(pids, "utf8").trim().split(" ").map(Number);
    process.kill(other, "SIGKILL");
    assert.ok(!existsSync(`/proc/${own}`));
  });

  it("it has ended, and what it has started holds its pipes", async () => {
    const pid = join(folder, "pid");
    await assertRejected(
      await program(
        "parent",
        `#!/bin/sh\nsleep 1000 &\necho $! > '${pid}'\necho oops >&2\nexit 3\n`,
      ),
      /ended before it listened, with exit code 3: oops/,
    );
    await until(() => !existsSync(`/proc/${readFileSync(pid, "utf8").trim()}`));
  });

  it("it says nothing", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const ready = join(folder, "ready");
    const silent = await program(
      "silent",
      `#!/bin/sh\necho starting >&2\n: > '${ready}'\nexec cat\n`,
    );
    let isOver = false;
    const rejected = assertRejected(silent, /did not say where it listens within 60 s: starting/);
    void rejected.finally(() => (isOver = true));
    await until(() => existsSync(ready));
    t.mock.timers.tick(59_999);
    await turn();
    assert.ok(!isOver);
    t.mock.timers.tick(1);
    await rejected;
  });

  it("it prints JSON that has no address", async () =>
    assertRejected(
      await program("number", "#!/bin/sh\necho null\nexec cat\n"),
      /did not say where it listens, but: null/,
    ));

  it("listens, where this process was too busy to see it", async (t) => {
    const listening = join(folder, "listening");
    const agent = before ?? builtAgent;
    process.env["SANDPIPE_AGENT"] = await program(
      "slow",
      `#!/bin/bash\nexec '${agent}' "$@" > >(while read -r line; do echo "$line"; : > '${listening}'; done)\n`,
    );
    const wait = setTimeout;
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const starting = startAgent({ workspace: folder });
    // All in a timer's turn, as it is where a timer is due as soon as the process has time again.
    await new Promise((resolve) => {
      wait(() => {
        const word = new Int32Array(new SharedArrayBuffer(4));
        for (let waits = 0; !existsSync(listening) && waits < 6_000; waits += 1) {
          Atomics.wait(word, 0, 0, 10);
        }
        t.mock.timers.tick(60_000);
        resolve(undefined);
      });
    });
    await (await starting).stop();
  });
});
