// @ts-check
// Images on macOS and Windows, by a pretended platform: npm installs the agent for Linux, and it is
// reached over the container's standard streams.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";

import { checkoutAgentPackage } from "../../scripts/project.mjs";
import { npmEnvironment, pack, temporaryFolder } from "../support/installed-package.mjs";
import { IMAGE, noSmallImage, setUpPodman } from "../support/podman.mjs";
import { pretending } from "../support/pretended-platform.mjs";

const execute = promisify(execFile);

const AGENT = `@sandpipe/agent-linux-${process.arch}`;

describe("images on other platforms", { skip: noSmallImage }, () => {
  /** @type {Awaited<ReturnType<typeof setUpPodman>>} */
  let podman;
  /** A project on macOS, with what npm installs there. @type {string} */
  let project;

  before(async () => {
    podman = await setUpPodman();
    project = await temporaryFolder();
    const { filename } = await pack(project);
    // Without compression, which takes longer than all else.
    const agent = join(project, "agent.tar");
    const flags = ["--transform=s,^,package/,", "-C", checkoutAgentPackage];
    await execute("tar", [...flags, "-cf", agent, "package.json", "sandpipe-agent"]);
    const manifest = {
      private: true,
      dependencies: { sandpipe: `file:${filename}` },
      optionalDependencies: { [AGENT]: `file:${agent}` },
    };
    await writeFile(join(project, "package.json"), JSON.stringify(manifest));
    const install = ["install", "--offline", "--os=darwin", `--cpu=${process.arch}`];
    await execute("npm", install, { cwd: project, env: npmEnvironment(project) });
  });

  after(async () => {
    rmSync(project, { recursive: true });
    await podman.remove();
  });

  /** Runs a module on a platform. @param {string} os @param {string} script */
  async function runOn(os, script) {
    const env = { ...process.env, ...(await pretending(project, `${os}-${process.arch}`)) };
    const args = ["--input-type=module", "--eval", script];
    return (await execute(process.execPath, args, { cwd: project, env })).stdout;
  }

  for (const os of ["darwin", "win32"]) {
    it(`run commands on ${os}, and stop them gracefully`, async () => {
      const options = { image: IMAGE, network: "none", workspace: project };
      const script = `
        import { createSandbox } from "sandpipe/node";
        const sandbox = await createSandbox(${JSON.stringify(options)});
        const { exitCode, output } = await sandbox.run("cat /proc/1/cmdline | tr '\\\\0' ' '; exit 7");
        console.log(exitCode, output);
        const trap = "trap 'echo tidied > tidied-${os}; exit' TERM; echo ready; while :; do sleep 0.05; done";
        const { id } = await sandbox.execs.create({ command: "sh", args: ["-c", trap] });
        await sandbox.execs.waitForOutput(id, "ready");
        await sandbox.stop();`;
      const said = await runOn(os, script);
      assert.match(said, /^7 \/run\/sandpipe-agent --listen-stdio /);
      assert.equal(readFileSync(join(project, `tidied-${os}`), "utf8"), "tidied\n");
      assert.deepEqual(await podman.containers(), []);
    });
  }

  it("say how the agent is installed where it was left out", async () => {
    rmSync(join(project, "node_modules", AGENT), { recursive: true });
    const script = `
      import { startAgent } from "sandpipe/node";
      const error = await startAgent({ image: ${JSON.stringify(IMAGE)} }).catch((error) => error);
      console.log(error.message);`;
    const said = await runOn("darwin", script);
    assert.match(
      said,
      /needs the agent for linux-(x64|arm64), and @sandpipe\/agent-linux-\1 is not installed\. .*--include=optional/,
    );
  });
});
