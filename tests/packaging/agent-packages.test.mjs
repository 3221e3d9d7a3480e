// @ts-check
// All packages as `npm run pack` makes them: what is in them, and what they do on a bare machine.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

import { AGENT_TARGETS } from "../../scripts/pack/agent-targets.mjs";
import { dist, root } from "../../scripts/project.mjs";
import { temporaryFolder } from "../installed-package.mjs";
import { startServer } from "../tools/mcp-server.mjs";
import { BareMachine } from "./bare-machine.mjs";
import { elfOf } from "./elf.mjs";

const execute = promisify(execFile);

const MB = 1_000_000;
/** What the machine of an ELF file is, by Node.js's name (elf(5)). */
const MACHINES = { x64: 62, arm64: 183 };

/** @type {string} */
let folder;
/** The tarballs by the names of their packages. @type {Record<string, string>} */
let tarballs;
/** @type {string} */
let version;

before(async () => {
  folder = await temporaryFolder();
  // From another folder than the project's root: a relative path is meant from where it is typed.
  const { stdout, stderr } = await execute("npm", ["run", "--silent", "pack", "--", folder], {
    cwd: join(root, "docs"),
  });
  assert.deepEqual({ stdout, stderr }, { stdout: "", stderr: "" });
  version = JSON.parse(await readFile(join(dist, "package.json"), "utf8")).version;
  tarballs = { sandpipe: join(folder, `sandpipe-${version}.tgz`) };
  for (const { os, cpu } of AGENT_TARGETS) {
    const file = `sandpipe-agent-${os}-${cpu}-${version}.tgz`;
    tarballs[`@sandpipe/agent-${os}-${cpu}`] = join(folder, file);
  }
});

after(() => rm(folder, { recursive: true, force: true }));

describe("npm run --silent pack", () => {
  it("prints nothing, and packs every package for every platform", async () => {
    const packed = (await readdir(folder)).filter((name) => name.endsWith(".tgz"));
    assert.deepEqual(packed.sort(), Object.values(tarballs).map(nameOf).sort());
  });
});

describe("the agent's packages", () => {
  it("are the root package's optional dependencies, of exactly its version", async () => {
    const { optionalDependencies } = await manifest("sandpipe");
    const agents = Object.keys(tarballs).filter((name) => name !== "sandpipe");
    assert.deepEqual(
      optionalDependencies,
      Object.fromEntries(agents.map((name) => [name, version])),
    );
    /** @type {{ AGENT_PLATFORMS: string[], agentPackage: (platform: string) => string }} */
    const { AGENT_PLATFORMS, agentPackage } = await import("../../dist/node/agent-program.js");
    assert.deepEqual(AGENT_PLATFORMS.map(agentPackage).sort(), agents.sort());
  });

  for (const { os, cpu } of AGENT_TARGETS) {
    const name = `@sandpipe/agent-${os}-${cpu}`;

    it(`${name} has one static binary for its platform, and nothing that runs at install`, async () => {
      const { os: systems, cpu: cpus, scripts, version: own } = await manifest(name);
      assert.deepEqual(
        { systems, cpus, scripts, own },
        { systems: [os], cpus: [cpu], scripts: undefined, own: version },
      );
      const modes = await modesIn(name);
      assert.deepEqual(modes, {
        ...{ LICENSE: "-rw-r--r--", "LICENSE-APACHE": "-rw-r--r--", "LICENSE-MIT": "-rw-r--r--" },
        ...{ "README.md": "-rw-r--r--", "package.json": "-rw-r--r--" },
        "sandpipe-agent": "-rwxr-xr-x",
      });
      const binary = await read(name, "sandpipe-agent");
      const { machine, interpreter } = elfOf(binary);
      assert.deepEqual({ machine, interpreter }, { machine: MACHINES[cpu], interpreter: false });
      assert.ok(binary.length <= 8 * MB, `${binary.length} bytes`);
    });
  }
});

it("publint and attw find nothing in any package", async () => {
  for (const [name, file] of Object.entries(tarballs)) {
    const data = new Uint8Array(await readFile(file));
    const { messages, pkg } = await publint({ strict: true, pack: { tarball: data.buffer } });
    const found = messages.map((message) => `${name}: ${formatMessage(message, pkg)}`);
    assert.deepEqual(found, []);
    // Of the root package's types tarball.test.mjs says more.
    if (name === "sandpipe") continue;
    assert.equal((await checkPackage(createPackageFromTarballData(data))).types, false);
  }
});

for (const { cpu } of AGENT_TARGETS) {
  describe(`installed where there is nothing but Node.js and a shell: ${cpu}`, () => {
    /** @type {BareMachine} */
    let machine;

    before(async () => {
      machine = await BareMachine.with(tarballs, { cpu });
    });

    after(() => machine.remove());

    it("sandpipe run ends with the command's exit code", async () => {
      assert.deepEqual(await machine.sandpipe(["run", "--", "sh", "-c", "echo out; exit 7"]), {
        ...{ exitCode: 7, stdout: "out\n", stderr: "" },
      });
    });

    it("startAgent() starts the agent of the package", async () => {
      const script = `
        import { connect } from "sandpipe";
        import { startAgent } from "sandpipe/node";
        const agent = await startAgent();
        const { execs } = await connect(agent);
        const { exitCode, output } = await execs.exec("sh", ["-c", "tr '\\\\0' ' ' </proc/$PPID/cmdline"]);
        await agent.stop();
        console.log(exitCode, output);`.replace("tr '\\\\0' ' ' <", "read -r line <");
      const { exitCode, stdout, stderr } = await machine.node(script);
      assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: "" });
      assert.match(stdout, new RegExp(`^0 .*agent-linux-${cpu}/sandpipe-agent`));
    });

    it("sandpipe mcp answers initialize, and runs a tool", async () => {
      const { command, env } = machine.invocation(["sandpipe"]);
      const server = await startServer(env, { command, cwd: machine.project });
      assert.deepEqual(server.client.getServerVersion()?.name, "sandpipe");
      assert.equal(await server.call("bash", { script: "exit 7" }), "exit code: 7");
      assert.equal((await server.close()).exitCode, 0);
    });

    it("node_modules takes less than 12 MB", async () => {
      const bytes = await sizeOf(join(machine.project, "node_modules"));
      assert.ok(bytes < 12 * MB, `${bytes} bytes`);
    });
  });
}
