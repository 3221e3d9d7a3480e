// @ts-check
// The container image of the agent, built and run by podman where there is one.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";

import { connect } from "sandpipe";

import { root } from "../../scripts/project.mjs";
import { temporaryFolder } from "../support/installed-package.mjs";
import { noPodman, podmanSettings, removePodmanFolder } from "../support/podman.mjs";
import { until } from "../support/processes.mjs";

const execute = promisify(execFile);

const MB = 1_000_000;
const IMAGE = "localhost/sandpipe-agent-test";
const TOKEN = "a-token-of-the-tests-1234567890";

describe("the container image", { skip: noPodman }, () => {
  /** @type {string} */
  let folder;
  /** @type {NodeJS.ProcessEnv} */
  let env;
  /** @type {string[]} */
  const containers = [];

  before(async () => {
    folder = await temporaryFolder();
    env = { ...process.env, ...(await podmanSettings(folder)) };
    await execute("npm", ["run", "image", "--", IMAGE], { cwd: root, env, maxBuffer: Infinity });
  });

  after(async () => {
    for (const container of containers) await podman("rm", "--force", "--volumes", container);
    await removePodmanFolder(folder, env);
  });

  /** @param {string[]} args */
  const podman = async (...args) => (await execute("podman", args, { env })).stdout.trim();

  /**
   * Starts a container that may write nowhere but to its volume. It sees the programs of this machine, for the
   * image has none.
   *
   * @param {string[]} options @param {string[]} flags the agent's
   */
  async function start(options, flags = []) {
    const programs = ["/usr", "/bin", "/lib", "/lib64"].flatMap((path) => [
      "--volume",
      `${path}:${path}:ro`,
    ]);
    const container = await podman(
      ...["run", "--detach", "--read-only", "--env", `SANDPIPE_ADMIN_TOKEN=${TOKEN}`],
      ...[...programs, ...options, IMAGE, ...flags],
    );
    containers.push(container);
    return container;
  }

  /** The line of JSON that the agent prints when it is ready. @param {string} container */
  async function ready(container) {
    let said = "";
    await until(async () => {
      const { stdout, stderr } = await execute("podman", ["logs", container], { env });
      said = stdout;
      if (said !== "") return true;
      const running = await podman("inspect", "--format", "{{.State.Running}}", container);
      assert.equal(running, "true", `it has ended: ${stderr}`);
      return false;
    });
    return /** @type {{ url: string }} */ (JSON.parse(said));
  }

  it("is under 12 MB", async (t) => {
    const size = Number(await podman("image", "inspect", "--format", "{{.Size}}", IMAGE));
    t.diagnostic(`${(size / MB).toFixed(1)} MB`);
    assert.ok(size < 12 * MB, `${size} bytes`);
  });

  it("runs commands as a user that isn't root, with a root file system that is read-only", async () => {
    const container = await start(["--network", "host"], ["--listen", "127.0.0.1:0"]);
    const { url } = await ready(container);
    const sandbox = await connect({ url, token: TOKEN });
    const { execs } = sandbox;

    const script = "id -u; touch /file 2>/dev/null || echo read-only; echo oops >&2; exit 7";
    const { exitCode, output } = await execs.exec("sh", ["-c", script]);
    assert.equal(exitCode, 7);
    assert.deepEqual(output.split("\n").sort(), ["", "65532", "oops", "read-only"]);

    const long = await execs.exec("sh", ["-c", "yes 0123456789 | head -c 20000000"]);
    assert.deepEqual([long.exitCode, long.output.length], [0, 20_000_000]);

    const stop = new AbortController();
    const stopped = execs.exec("sh", ["-c", "echo ready; exec sleep 600"], {
      signal: stop.signal,
      onOutput: () => stop.abort(),
    });
    await assert.rejects(stopped, { code: "interrupted", exitCode: 130 });

    const { id } = await execs.create({ command: "sh", args: ["-c", "echo one; exec sleep 600"] });
    for await (const event of execs.streamOutput(id)) {
      assert.equal(event.output, "one\n");
      break;
    }
    assert.equal((await execs.get(id)).status, "RUNNING");
    sandbox.close();

    // The agent stops what runs, and ends by itself.
    await podman("stop", "--time", "60", container);
    assert.equal(await podman("inspect", "--format", "{{.State.ExitCode}}", container), "0");
  });

  it("has a health check, which tells whether the agent answers", async () => {
    const healthy = await start(["--network", "none"]);
    await ready(healthy);
    await podman("healthcheck", "run", healthy);

    const elsewhere = await start(["--network", "none"], ["--listen", "127.0.0.1:57469"]);
    await ready(elsewhere);
    await assert.rejects(podman("healthcheck", "run", elsewhere), { code: 1 });
  });
});
