// @ts-check
// `--image` of the program: run, agent and mcp in a container of podman's.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { connect } from "sandpipe";

import { installSandpipe } from "../support/installed-cli.mjs";
import { startServer } from "../support/mcp-server.mjs";
import { IMAGE, noSmallImage, setUpPodman } from "../support/podman.mjs";

const OF_IMAGE = ["--image", IMAGE, "--network", "none"];

describe("the program with an image", { skip: noSmallImage }, () => {
  /** @type {Awaited<ReturnType<typeof setUpPodman>>} */
  let podman;
  /** @type {Awaited<ReturnType<typeof installSandpipe>>} */
  let sandpipe;
  /** @type {string} */
  let workspace;

  before(async () => {
    podman = await setUpPodman();
    sandpipe = await installSandpipe();
    workspace = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
    writeFileSync(join(workspace, "given"), "given\n");
  });

  after(async () => {
    rmSync(workspace, { recursive: true });
    await sandpipe.remove();
    await podman.remove();
  });

  it("runs a command, whose exit code and output are its own", async () => {
    const script = "cat given; echo oops >&2; cat /etc/passwd | head -1; exit 7";
    const mount = ["--workspace", workspace, "--workspace-at", "/src"];
    // The image counts, not an agent that is named for all.
    const env = { SANDPIPE_URL: "http://127.0.0.1:9" };
    const args = ["run", ...OF_IMAGE, ...mount, "--", "sh", "-c", script];
    const { exitCode, stdout, stderr } = await sandpipe.run(args, { env });
    assert.deepEqual(
      [exitCode, stdout, stderr],
      [7, "given\nroot:x:0:0::/root:/bin/sh\n", "oops\n"],
    );
    assert.deepEqual(await podman.containers(), []);
  });

  it("passes stdin on, byte for byte", async () => {
    const invocation = await sandpipe.start(["run", ...OF_IMAGE, "-i", "--", "sha1sum"]);
    const bytes = Buffer.from([0, 255, 10, 128]);
    invocation.stdin.end(bytes);
    const { exitCode, stdout } = await invocation.end;
    assert.deepEqual(
      [exitCode, stdout],
      [0, `${createHash("sha1").update(bytes).digest("hex")}  -\n`],
    );
  });

  it("stops the command and the container on Ctrl+C, and dies of it", async () => {
    const script = "trap 'echo tidied; exit' TERM; echo ready; while :; do sleep 0.05; done";
    const invocation = await sandpipe.start(["run", ...OF_IMAGE, "--", "sh", "-c", script]);
    await invocation.says("ready");
    invocation.child.kill("SIGINT");
    const { signal, stdout } = await invocation.end;
    assert.deepEqual([signal, stdout], ["SIGINT", "ready\ntidied\n"]);
    await invocation.leavesNothing();
    assert.deepEqual(await podman.containers(), []);
  });

  it("kills at once at a second Ctrl+C", async () => {
    const script = "trap 'echo asked' TERM; echo ready; while :; do sleep 0.05; done";
    // A longer time than this test has.
    const args = ["run", ...OF_IMAGE, "--grace", "3600", "--", "sh", "-c", script];
    const invocation = await sandpipe.start(args);
    await invocation.says("ready");
    invocation.child.kill("SIGINT");
    await invocation.says("asked");
    invocation.child.kill("SIGINT");
    assert.equal((await invocation.end).signal, "SIGINT");
    assert.deepEqual(await podman.containers(), []);
  });

  it("serves an agent until SIGTERM, with its token in a file that goes with it", async () => {
    const invocation = await sandpipe.start(["agent", "--json", ...OF_IMAGE]);
    await invocation.says("\n");
    const { url, adminTokenFile } = JSON.parse(invocation.stdout);
    const token = readFileSync(adminTokenFile, "utf8").trim();
    const { execs } = await connect({ url, token });
    assert.equal((await execs.exec("hostname")).exitCode, 0);
    assert.equal((await podman.containers()).length, 1);
    invocation.child.kill("SIGTERM");
    assert.equal((await invocation.end).exitCode, 0);
    assert.throws(() => readFileSync(adminTokenFile));
    await invocation.leavesNothing();
    assert.deepEqual(await podman.containers(), []);
  });

  it("serves tools that run in it, and ends with its client", async () => {
    const args = [...OF_IMAGE, "--workspace", workspace];
    const server = await startServer({}, { args });
    const ran = await server.call("bash", { script: "pwd; cat given; exit 3" }).catch(String);
    assert.match(ran, /exit code: 3\n\n\/workspace\ngiven\n/);
    const { exitCode, stderr } = await server.close();
    assert.deepEqual([exitCode, stderr], [0, ""]);
    assert.deepEqual(await podman.containers(), []);
  });

  it("says what is wrong with the options, and what an image lacks", async () => {
    for (const [args, message] of /** @type {const} */ ([
      [["--memory", "1g"], /--memory is a container's: name its image in --image/],
      [["--image", "a", "--cpus", "many"], /--cpus must be a number above 0/],
      [["--image", "a", "--workspace-at", "/src"], /--workspace-at says where/],
      [["--image", "a", "--engine", "lxc"], /--engine must be one of podman, docker/],
      [["--image", "a", "--url", "http://x"], /--url names an agent, and --image asks for another/],
    ])) {
      const { exitCode, stderr } = await sandpipe.run(["run", ...args, "--", "true"]);
      assert.equal(exitCode, 2);
      assert.match(stderr, message);
    }
    const missing = await sandpipe.run(["run", "--image", "no-such", "--", "true"]);
    assert.equal(missing.exitCode, 125);
    assert.match(missing.stderr, /^sandpipe: podman has no image no-such .*`podman pull no-such`/);
  });

  it("prints the configuration of a server with its image, from whatever directory", async () => {
    const args = ["mcp", ...OF_IMAGE, "--workspace", ".", "--print-config", "claude"];
    // One whose commands can't change the program.
    const cwd = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
    const { stdout } = await sandpipe.run(args, { cwd });
    rmSync(cwd, { recursive: true });
    const { args: printed } = JSON.parse(stdout).mcpServers.sandpipe;
    assert.deepEqual(printed.slice(3, 5), ["--image", IMAGE]);
    assert.match(printed[printed.indexOf("--workspace") + 1], /^\//);
  });
});
