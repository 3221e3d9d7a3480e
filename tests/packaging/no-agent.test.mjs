// @ts-check
// Each reason why there may be no agent to start has a message of its own.
import assert from "node:assert/strict";
import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";

import { AGENT_TARGETS } from "../../scripts/build/agent-targets.mjs";
import { BareMachine } from "./bare-machine.mjs";
import { tarballs } from "./tarballs.mjs";

describe("where there is no agent, an error says why and what to do", () => {
  const own = `@sandpipe/agent-${process.platform}-${process.arch}`;
  const [otherCpu] = AGENT_TARGETS.map(({ cpu }) => cpu).filter((cpu) => cpu !== process.arch);
  /** @type {BareMachine} */
  let machine;

  beforeEach(async () => {
    machine = await BareMachine.with(tarballs);
  });

  afterEach(() => machine.remove());

  /** @param {string | RegExp} says */
  async function assertFails(says, at = machine) {
    const { exitCode, stdout, stderr } = await at.sandpipe("run", "true");
    assert.deepEqual({ exitCode, stdout }, { exitCode: 125, stdout: "" });
    assert.match(stderr, /^sandpipe: [^\n]*\n$/);
    assert.match(stderr, new RegExp(says));
    const script = `
      import { startAgent } from "sandpipe/node";
      const error = await startAgent().catch((error) => error);
      console.log(error.code, error.message.endsWith(error.hint));`;
    assert.deepEqual(await at.node(script), { exitCode: 0, stdout: "agent true\n", stderr: "" });
  }

  it("optional dependencies were left out: installed with them, it works", async () => {
    await machine.install("--omit=optional");
    await assertFails(`${own}, an optional dependency .*npm install --include=optional`);
    await machine.install("--include=optional");
    assert.equal(
      (await machine.sandpipe("run", "--policy=open", "--", "sh", "-c", "exit 7")).exitCode,
      7,
    );
  });

  it("node_modules was copied from another platform: installed again, it works", async () => {
    await machine.install("--os=linux", `--cpu=${otherCpu}`);
    const copy = await machine.copy();
    try {
      await assertFails(
        `has @sandpipe/agent-linux-${otherCpu}, not ${own}, .*Remove node_modules`,
        copy,
      );
      await rm(join(copy.project, "node_modules"), { recursive: true });
      await copy.install();
      assert.equal(
        (await copy.sandpipe("run", "--policy=open", "--", "sh", "-c", "exit 7")).exitCode,
        7,
      );
    } finally {
      await copy.remove();
    }
  });

  for (const platform of ["darwin-arm64", "win32-x64"]) {
    it(`there is none for ${platform}, and what works there is named`, async () => {
      await machine.install("--omit=optional");
      await machine.pretend(platform);
      await assertFails(
        `no sandpipe-agent for ${platform}, .*--image.*--url.*--ssh.*localRuntime\\(\\)`,
      );
      const local = await machine.node(`
        import { localRuntime } from "sandpipe/node";
        console.log((await localRuntime().run("exit 7")).exitCode);`);
      assert.equal(local.stdout, "7\n");
    });
  }

  it("the program is not executable any more", async () => {
    await machine.install();
    await chmod(join(machine.project, "node_modules", own, "sandpipe-agent"), 0o644);
    await assertFails(`sandpipe-agent could not be run: .*EACCES.*${own}.*chmod \\+x`);
  });

  it("spawning itself throws", async () => {
    await machine.install();
    // What is below a file is ENOTDIR, which Node.js throws.
    machine.env["SANDPIPE_AGENT"] = join(machine.project, "package.json", "agent");
    await assertFails("package.json/agent could not be run: .*ENOTDIR.*SANDPIPE_AGENT names it");
  });
});
