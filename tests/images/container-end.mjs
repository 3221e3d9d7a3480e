// @ts-check
// Tests of how an agent in a container of podman's ends, or does not come to be.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentError, connect, isSandpipeError } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { root } from "../../scripts/project.mjs";
import { firstLine } from "../support/first-line.mjs";
import { IMAGE, noSmallImage } from "../support/podman.mjs";
import { childrenOf, processesThat, until } from "../support/processes.mjs";
import { withPodman } from "./with-podman.mjs";

/** @param {"socket" | "stdio"} connection */
export function testEnds(connection) {
  describe(`an agent in a container, by ${connection}, at its end`, { skip: noSmallImage }, () => {
    const place = withPodman(connection);
    testStops(place);
    if (connection === "socket") testStarts(place);
  });
}

/** @param {ReturnType<typeof withPodman>} place */
function testStops(place) {
  const { withAgent } = place;

  /** The ids of this machine's processes that have this argument. @param {string} argument */
  const withArgument = (argument) =>
    processesThat((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(argument),
    );

  /** Seconds that no other process of this machine sleeps. */
  const someSeconds = () => `${randomInt(1e6, 1e9)}.5`;

  it("stops all that runs in it with it, also what has left its session", async () => {
    const argument = someSeconds();
    await withAgent({}, async ({ execs }) => {
      const script = `setsid sleep ${argument} & echo ready; sleep 600`;
      const { id } = await execs.create({ command: "sh", args: ["-c", script] });
      for await (const { output } of execs.streamOutput(id)) if (output.includes("ready")) break;
      await until(() => withArgument(argument).length === 1);
    });
    assert.deepEqual(withArgument(argument), []);
  });

  it("kills what ignores SIGTERM and has left its session, at once where that is asked for", async () => {
    const argument = someSeconds();
    await withAgent({}, async ({ execs }, agent) => {
      const script = `(setsid sh -c 'trap "" TERM; sleep ${argument}; :' &); echo ready; sleep 600`;
      const { id } = await execs.create({ command: "sh", args: ["-c", script] });
      for await (const { output } of execs.streamOutput(id)) if (output.includes("ready")) break;
      await until(() => withArgument(argument).length === 1);
      await agent.stop({ forceSignal: AbortSignal.abort() });
    });
    assert.deepEqual(withArgument(argument), []);
  });

  for (const victim of ["caller", "engine's client"]) {
    it(`leaves no container where the ${victim} is killed`, async () => {
      const argument = someSeconds();
      const script = `
        import { connect } from "sandpipe";
        import { startAgent } from "sandpipe/node";
        const agent = await startAgent(${JSON.stringify(place.options)});
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
      assert.equal((await place.podman.containers()).length, 1);
      if (victim === "caller") {
        parent.kill("SIGKILL");
      } else {
        const [client] = childrenOf(String(parent.pid));
        process.kill(Number(client), "SIGKILL");
        // The agent stops its commands by SIGTERM when its stdin ends, and may be in time to say so.
        assert.match((await said.next()).value, /^(143|exit_code_missing|network)\n$/);
      }
      await until(() => withArgument(argument).length === 0);
      await until(async () => (await place.podman.containers()).length === 0);
      assert.deepEqual(readdirSync(place.temporary), []);
      parent.kill("SIGKILL");
    });
  }

  it("invents no result where its container is killed", async () => {
    const agent = await startAgent(place.options);
    const { execs } = await connect({ ...agent, url: agent.url, token: agent.token });
    const { id } = await execs.create({ command: "sleep", args: ["600"] });
    const waiting = execs.wait(id);
    const [name = ""] = await place.podman.containers();
    await Promise.all([
      assert.rejects(
        waiting,
        (error) => isSandpipeError(error, "exit_code_missing") || isSandpipeError(error, "network"),
      ),
      place.podman.podman("kill", name),
    ]);
    await assert.rejects(execs.exec("true"), { code: "network" });
    await agent.stop();
    await place.isEmpty();
  });

  it("ends by itself where the engine stops its container", async () => {
    const agent = await startAgent(place.options);
    const [name = ""] = await place.podman.containers();
    // It would be killed in an hour.
    await place.podman.podman("stop", "--time", "3600", name);
    await agent.stop();
    assert.deepEqual(await place.podman.containers(), []);
  });
}

/** @param {ReturnType<typeof withPodman>} place */
function testStarts(place) {
  it("removes what a start left that was killed, and nothing of one that goes on", async () => {
    // Longer than the path of a socket may be.
    const long = join(place.temporary, "x".repeat(200));
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
      await firstLine(maker);
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
      const agent = await startAgent(place.options);
      assert.deepEqual(readdirSync(long), [other]);
      await agent.stop();
    } finally {
      process.env["TMPDIR"] = place.temporary;
    }
    living.kill("SIGKILL");
    rmSync(long, { recursive: true });
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
      await place.isEmpty();
    }

    it("for want of the image says how it is fetched", () =>
      assertRefused(
        { image: "no-such-image:1" },
        /^podman has no image no-such-image:1 /,
        /^`podman pull no-such-image:1` fetches it/,
      ));

    it("for want of an engine says what to install", async () => {
      const path = process.env["PATH"];
      process.env["PATH"] = place.temporary;
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
        const image = await place.podman.importFor(other);
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
}
