// @ts-check
// startAgent({ image }): an agent in a container of podman's.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { AgentError, connect, isSandpipeError } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { root } from "../../scripts/project.mjs";
import { IMAGE, noSmallImage, setUpPodman } from "../support/podman.mjs";
import { processesThat, until } from "../support/processes.mjs";

/** @typedef {import("sandpipe").Sandbox} Sandbox */

describe("an agent in a container", { skip: noSmallImage }, () => {
  /** @type {Awaited<ReturnType<typeof setUpPodman>>} */
  let podman;
  /** Where this process makes temporary files. @type {string} */
  let temporary;
  const usual = process.env["TMPDIR"];

  before(async () => {
    podman = await setUpPodman();
    temporary = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
    process.env["TMPDIR"] = temporary;
  });

  after(async () => {
    if (usual === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = usual;
    await podman.remove();
    rmSync(temporary, { recursive: true, force: true });
  });

  /**
   * Does something with an agent in a container, of which nothing is left then.
   *
   * @param {import("sandpipe/node").StartAgentOptions} options
   * @param {(sandbox: Sandbox, agent: Awaited<ReturnType<typeof startAgent>>) => Promise<void>} work
   */
  async function withAgent(options, work) {
    const agent = await startAgent({ image: IMAGE, network: "none", ...options });
    const sandbox = await connect(agent);
    try {
      await work(sandbox, agent);
    } finally {
      sandbox.close();
      await agent.stop();
    }
    assert.deepEqual(await podman.containers(), []);
    assert.deepEqual(readdirSync(temporary), []);
  }

  /** The ids of this machine's processes that have this argument. @param {string} argument */
  const withArgument = (argument) =>
    processesThat((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(argument),
    );

  describe("without a network", () => {
    it("runs commands as the host does: exit codes, stdin, terminals, sessions, background", () =>
      withAgent({}, async ({ execs, sessions, background }) => {
        const script = "echo out; echo err >&2; exit 7";
        const result = await execs.exec("sh", ["-c", script]);
        assert.deepEqual([result.exitCode, result.stdout, result.stderr], [7, "out\n", "err\n"]);
        assert.equal((await execs.exec("no-such-program")).exitCode, 127);
        assert.equal((await execs.exec("sh", ["-c", "kill -9 $$"])).exitCode, 137);
        assert.equal((await execs.exec("cat", [], { input: "typed" })).output, "typed");

        const { id } = await execs.create({
          command: "sh",
          args: ["-c", "tty; exit 3"],
          pty: true,
        });
        const terminal = await execs.attach(id);
        let shown = "";
        for await (const { output } of terminal.output) shown += output;
        assert.deepEqual([shown, await terminal.exited], ["/dev/pts/0\r\n", 3]);
        terminal.close();

        const session = await sessions.create({ shell: "sh" });
        await session.run("cd /etc; x=5");
        const said = await session.run("pwd; echo $x; (exit 4)");
        assert.deepEqual([said.exitCode, said.output], [4, "/etc\n5\n"]);
        await session.close();

        const process = await background.spawn("echo up; sleep 0.2; exit 6");
        const { exitCode, status } = await background.wait(process.id);
        assert.deepEqual([status, exitCode], ["exited", 6]);
        assert.equal((await background.readOutput(process.id)).output, "up\n");
      }));

    it("gives 10 MB of output, every byte once, and 50 commands at once their own", () =>
      withAgent({}, async ({ execs }) => {
        const { output } = await execs.exec("seq", ["1", "1400000"]);
        assert.equal(output.length, 10_088_896);
        assert.equal(output, Array.from({ length: 1_400_000 }, (_, i) => `${i + 1}\n`).join(""));
        const many = Array.from({ length: 50 }, (_, i) =>
          execs.exec("sh", ["-c", `echo ${i}; exit ${i}`]),
        );
        const results = await Promise.all(many);
        assert.deepEqual(
          results.map(({ exitCode, output }) => [exitCode, output]),
          results.map((_, i) => [i, `${i}\n`]),
        );
      }));

    it("reaps what its commands leave behind, as process 1", () =>
      withAgent({}, async ({ execs }) => {
        await execs.exec("sh", ["-c", "for i in $(seq 50); do (sleep 0.05 &); done"]);
        const script = "while ps -o stat,comm | grep -E '^(Z|.* sleep)'; do sleep 0.05; done";
        assert.equal((await execs.exec("sh", ["-c", script], { timeoutMs: 20_000 })).exitCode, 0);
      }));

    it("has no network but its own loopback", () =>
      withAgent({}, async ({ execs }) => {
        const { output } = await execs.exec("cat", ["/proc/net/dev"]);
        assert.deepEqual(
          [...output.matchAll(/^ *(\w+):/gm)].map(([, name]) => name),
          ["lo"],
        );
        const server = createServer((socket) => socket.end("hello")).listen(0, "127.0.0.1");
        await once(server, "listening");
        const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
        const asked = await execs.exec("nc", ["-w", "2", "127.0.0.1", String(port)]);
        server.close();
        assert.notEqual(asked.exitCode, 0);
        assert.equal(asked.stdout, "");
      }));
  });

  it("has this machine's network where that is asked for", () =>
    withAgent({ network: "host" }, async ({ execs }) => {
      const server = createServer((socket) => socket.end("hello")).listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
      assert.equal((await execs.exec("nc", ["127.0.0.1", String(port)])).output, "hello");
      server.close();
    }));

  it("can't have its token read by a command, nor its socket replaced", () =>
    withAgent({}, async ({ execs }, { token }) => {
      const places = [
        "env",
        "cat /proc/[0-9]*/environ",
        "cat /proc/[0-9]*/cmdline",
        "find /run -type f ! -name sandpipe-agent -exec cat {} +",
        "dd if=/proc/1/mem bs=4096 count=1",
        "cat /proc/1/fd/0",
        "cat /proc/1/maps",
      ];
      for (const place of places) {
        const { output } = await execs.exec("sh", ["-c", place], { timeoutMs: 20_000 });
        assert.ok(!output.includes(token), place);
      }
      for (const file of ["environ", "mem", "maps"]) {
        const { exitCode } = await execs.exec("cat", [`/proc/1/${file}`]);
        assert.notEqual(exitCode, 0, file);
      }
      const [name = ""] = await podman.containers();
      assert.ok(!(await podman.podman("inspect", name)).includes(token));
      assert.equal((await execs.exec("ls", ["-A", "/run/sandpipe"])).output, "");
      assert.notEqual((await execs.exec("touch", ["/run/sandpipe/agent.sock"])).exitCode, 0);
    }));

  it("reads and writes the workspace where it is mounted, and nothing else of this machine", () => {
    const workspace = mkdtempSync(`${temporary}, workspace-`);
    writeFileSync(join(workspace, "given"), "from outside");
    const done = withAgent({ workspace, workspaceAt: "/src" }, async ({ execs }) => {
      const script = "pwd; cat given; echo from inside > made";
      assert.equal((await execs.exec("sh", ["-c", script])).output, "/src\nfrom outside");
      assert.equal(readFileSync(join(workspace, "made"), "utf8"), "from inside\n");
      assert.notEqual((await execs.exec("ls", [workspace])).exitCode, 0);
      // A write would be refused of any program that runs.
      const program = await execs.exec("touch", ["/run/sandpipe-agent"]);
      assert.match(program.output, /Read-only file system/);
    });
    return done.finally(() => rmSync(workspace, { recursive: true }));
  });

  it("holds its limits of memory and processes, and lives on", () =>
    withAgent({ memory: "64m", pids: 40, cpus: 1 }, async ({ execs }) => {
      const eaten = await execs.exec("dd", ["if=/dev/zero", "of=/dev/null", "bs=200M", "count=1"]);
      assert.equal(eaten.exitCode, 137);
      assert.ok(
        !existsSync("oom"),
        "the engine's monitor leaves nothing in the caller's directory",
      );
      const script = "for i in $(seq 60); do sleep 20 & done; echo all";
      const forked = await execs.exec("sh", ["-c", script]);
      assert.match(forked.output, /can't fork/);
      // There is room again when they have ended.
      const isRefused = () =>
        execs.exec("true").then(
          () => false,
          ({ status }) => status === 503,
        );
      while (await isRefused());
      assert.equal((await execs.exec("echo", ["there"])).output, "there\n");
    }));

  it("runs commands as users that the image does not know, by their numbers", () =>
    withAgent({}, async ({ execs }) => {
      const id = (/** @type {string} */ user) => execs.exec("id", [], { user });
      // It has no file of groups.
      assert.match((await id("user")).output, /^uid=1000\(user\) gid=1000/);
      assert.match((await id("1000")).output, /^uid=1000\(user\) gid=1000/);
      await execs.exec("rm", ["/etc/passwd"]);
      assert.match((await id("1000:2000")).output, /^uid=1000 gid=2000/);
      await assert.rejects(id("1000"), /the user 1000 has no entry .* "1000:GROUP"/);
      await assert.rejects(id("user"), /there is no user "user"/);
    }));

  it("stops all that runs in it with it, also what has left its session", async () => {
    const [one, two] = ["98761.5", "98762.5"];
    await withAgent({}, async ({ execs }) => {
      const script = `setsid sleep ${one} & (setsid sh -c 'trap "" TERM; sleep ${two}; :' &); echo ready; sleep 600`;
      const { id } = await execs.create({ command: "sh", args: ["-c", script] });
      for await (const { output } of execs.streamOutput(id)) if (output.includes("ready")) break;
      await until(() => withArgument(one).length === 1 && withArgument(two).length === 1);
    });
    assert.deepEqual([withArgument(one), withArgument(two)], [[], []]);
  });

  for (const victim of ["caller", "engine's client"]) {
    it(`leaves no container where the ${victim} is killed`, async () => {
      const argument = "98763.5";
      const script = `
        import { connect } from "sandpipe";
        import { startAgent } from "sandpipe/node";
        const agent = await startAgent({ image: ${JSON.stringify(IMAGE)}, network: "none" });
        const { execs } = await connect(agent);
        const { id } = await execs.create({ command: "sh", args: ["-c", "setsid sleep ${argument} & wait"] });
        console.log("ready");
        execs.wait(id).then(({ exitCode }) => console.log(exitCode), ({ code }) => console.log(code));
        setInterval(() => {}, 1000);`;
      const parent = spawn(process.execPath, ["--input-type=module", "--eval", script], {
        cwd: import.meta.dirname,
        stdio: ["ignore", "pipe", "inherit"],
      });
      const said = parent.stdout.setEncoding("utf8")[Symbol.asyncIterator]();
      assert.equal((await said.next()).value, "ready\n");
      await until(() => withArgument(argument).length === 1);
      assert.equal((await podman.containers()).length, 1);
      if (victim === "caller") {
        parent.kill("SIGKILL");
      } else {
        const [client] = processesThat((pid) => {
          const [, parentPid] =
            readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ") ?? [];
          return parentPid === String(parent.pid);
        });
        process.kill(Number(client), "SIGKILL");
        // The agent stops its commands by SIGTERM when its stdin ends, and may be in time to say so.
        assert.match((await said.next()).value, /^(143|exit_code_missing|network)\n$/);
      }
      await until(() => withArgument(argument).length === 0);
      await until(async () => (await podman.containers()).length === 0);
      assert.deepEqual(readdirSync(temporary), []);
      parent.kill("SIGKILL");
    });
  }

  it("removes what a start left that was killed, and nothing of one that goes on", async () => {
    // Longer than the path of a socket may be.
    const long = join(temporary, "x".repeat(200));
    mkdirSync(long);
    const script = `
      import { makeSocketFolder } from "./dist/node/container/socket-folder.js";
      await makeSocketFolder();
      console.log("made");
      setInterval(() => {}, 1000);`;
    const start = async () => {
      const maker = spawn(process.execPath, ["--input-type=module", "--eval", script], {
        cwd: root,
        env: { ...process.env, TMPDIR: long },
        stdio: ["ignore", "pipe", "inherit"],
      });
      await once(maker.stdout, "data");
      return maker;
    };
    const killed = await start();
    const [left] = readdirSync(long);
    killed.kill("SIGKILL");
    await once(killed, "close");
    const living = await start();
    const [other] = readdirSync(long);
    assert.notEqual(other, left);
    process.env["TMPDIR"] = long;
    try {
      const agent = await startAgent({ image: IMAGE, network: "none" });
      assert.deepEqual(readdirSync(long), [other]);
      await agent.stop();
    } finally {
      process.env["TMPDIR"] = temporary;
    }
    living.kill("SIGKILL");
    rmSync(long, { recursive: true });
  });

  it("invents no result where its container is killed", async () => {
    const agent = await startAgent({ image: IMAGE, network: "none" });
    const { execs } = await connect({ ...agent, url: agent.url, token: agent.token });
    const { id } = await execs.create({ command: "sleep", args: ["600"] });
    const waiting = execs.wait(id);
    const [name = ""] = await podman.containers();
    await Promise.all([
      assert.rejects(
        waiting,
        (error) => isSandpipeError(error, "exit_code_missing") || isSandpipeError(error, "network"),
      ),
      podman.podman("kill", name),
    ]);
    await assert.rejects(execs.exec("true"), { code: "network" });
    await agent.stop();
    assert.deepEqual(await podman.containers(), []);
    assert.deepEqual(readdirSync(temporary), []);
  });

  it("ends by itself where the engine stops its container", async () => {
    const agent = await startAgent({ image: IMAGE, network: "none" });
    const [name = ""] = await podman.containers();
    const begin = performance.now();
    await podman.podman("stop", "--time", "60", name);
    assert.ok(performance.now() - begin < 30_000);
    await agent.stop();
    assert.deepEqual(await podman.containers(), []);
  });

  describe("that can't be", () => {
    /** @param {import("sandpipe/node").StartAgentOptions} options @param {RegExp} message @param {RegExp} [hint] */
    async function assertRefused(options, message, hint) {
      await assert.rejects(startAgent(options), (error) => {
        assert.ok(error instanceof AgentError);
        assert.match(error.message, message);
        if (hint !== undefined) assert.match(error.hint ?? "", hint);
        return true;
      });
      assert.deepEqual(await podman.containers(), []);
      assert.deepEqual(readdirSync(temporary), []);
    }

    it("for want of the image says how it is fetched", () =>
      assertRefused(
        { image: "no-such-image:1" },
        /^podman has no image no-such-image:1 /,
        /^`podman pull no-such-image:1` fetches it/,
      ));

    it("for want of an engine says what to install", async () => {
      const path = process.env["PATH"];
      process.env["PATH"] = temporary;
      const refused = assert.rejects(startAgent({ image: IMAGE }), (error) => {
        assert.match(String(error), /podman or docker, and neither is in PATH/);
        assert.match(/** @type {AgentError} */ (error).hint ?? "", /apt-get install podman/);
        return true;
      });
      const named = assert.rejects(
        startAgent({ image: IMAGE, engine: "docker" }),
        /no docker in PATH/,
      );
      process.env["PATH"] = path;
      await Promise.all([refused, named]);
    });

    for (const architecture of ["arm64", "riscv64"]) {
      it(`as the image is for ${architecture} says so`, async () => {
        const other = process.arch === "arm64" && architecture === "arm64" ? "amd64" : architecture;
        const image = await podman.importFor(other);
        await assertRefused(
          { image },
          new RegExp(
            `is for linux-(${architecture}|x64), and the agent that is here is for linux-`,
          ),
          /^`podman pull --platform linux\//,
        );
      });
    }

    it("for want of the workspace says which", () =>
      assertRefused(
        { image: IMAGE, workspace: "/no/such" },
        /the workspace \/no\/such is not a directory/,
      ));

    it("as the engine refuses it has the engine's words", () =>
      assertRefused(
        { image: IMAGE, network: "no-such-network" },
        /podman run ended with exit code 12\d\): .*no-such-network/s,
      ));

    it("as the agent refuses a flag has the agent's words", () =>
      assertRefused(
        { image: IMAGE, network: "none", args: ["--walk"] },
        /ended before its agent listened .*--walk/s,
      ));
  });
});
