// @ts-check
// The packages where there is nothing but Node.js and a shell. The one for another machine runs in an emulator.
import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { AGENT_TARGETS } from "../../scripts/build/agent-targets.mjs";
import { startServer } from "../support/mcp-server.mjs";
import { BareMachine } from "./bare-machine.mjs";
import { tarballs } from "./tarballs.mjs";

const MB = 1_000_000;

for (const { os, cpu } of AGENT_TARGETS) {
  describe(`installed where there is nothing but Node.js and a shell, ${cpu}`, () => {
    /** @type {BareMachine} */
    let machine;

    before(async () => {
      machine = await BareMachine.with(tarballs);
      await machine.install("--ignore-scripts", `--os=${os}`, `--cpu=${cpu}`);
      if (cpu !== process.arch) await machine.emulate();
    });

    after(() => machine.remove());

    it("sandpipe run says that it can't confine commands, and runs them where that is asked for", async () => {
      const command = ["--", "sh", "-c", "echo out; exit 7"];
      const refused = await machine.sandpipe("run", ...command);
      assert.deepEqual([refused.exitCode, refused.stdout], [125, ""]);
      assert.match(refused.stderr, /apt-get install bubblewrap.*--policy open/);
      const end = await machine.sandpipe("run", "--policy", "open", ...command);
      assert.deepEqual(end, { exitCode: 7, stdout: "out\n", stderr: "" });
    });

    it("startAgent() starts the agent of the platform's package", async () => {
      const { exitCode, stdout, stderr } = await machine.node(`
        import { connect } from "sandpipe";
        import { startAgent } from "sandpipe/node";
        const agent = await startAgent();
        const { execs } = await connect(agent);
        const { output } = await execs.exec("sh", ["-c", "while read -r name value; do [ $name != PPid: ] || read -r line </proc/$value/cmdline; done </proc/$PPID/status; echo $line"]);
        await agent.stop();
        console.log(output);`);
      assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: "" });
      const name = `node_modules/@sandpipe/agent-${os}-${cpu}/sandpipe-agent`;
      assert.ok(stdout.includes(name), stdout);
    });

    it("refuses the first program of the package's README, and runs it in the way that the error names", async () => {
      const readme = await readFile(
        join(machine.project, "node_modules/sandpipe/README.md"),
        "utf8",
      );
      const [, program = ""] = /```js\n([^]*?)```/.exec(readme) ?? [];
      const refused = await machine.node(program);
      assert.deepEqual([refused.exitCode, refused.stdout], [1, ""]);
      assert.match(refused.stderr, /there is no bwrap in PATH: `apt-get install bubblewrap`/);
      assert.match(refused.stderr, /run commands unconfined, .*give `policy: "open"`/);
      const unconfined = program.replace("createSandbox()", 'createSandbox({ policy: "open" })');
      const end = await machine.node(unconfined);
      assert.deepEqual(end, { exitCode: 0, stdout: "3 hello\n\n", stderr: "" });
    });

    it("sandpipe mcp answers initialize", async () => {
      // There is no bubblewrap.
      const args = ["--policy", "open"];
      const options = { args, command: [machine.program], cwd: machine.project };
      const server = await startServer(machine.env, options);
      assert.equal(server.client.getServerVersion()?.name, "sandpipe");
      assert.equal((await server.client.listTools()).tools.length, 8);
      assert.equal((await server.close()).exitCode, 0);
    });

    it("node_modules takes less than 12 MB", async () => {
      const bytes = await sizeOf(join(machine.project, "node_modules"));
      assert.ok(bytes < 12 * MB, `${bytes} bytes`);
    });
  });
}

/** What the files of a folder take, in bytes. @param {string} folder */
async function sizeOf(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = files.map(
    async ({ parentPath, name }) => (await stat(join(parentPath, name))).size,
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
