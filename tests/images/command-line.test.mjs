// @ts-check
// The engines' command lines, and what is asked of a container.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { InvalidArgumentError } from "sandpipe";

import { removeArguments, runArguments } from "../../dist/node/container/command-line.js";
import { readPlatform } from "../../dist/node/container/inspect-image.js";
import { containerOptions } from "../../dist/node/container/options.js";

const parts = {
  name: "sandpipe-1",
  program: "/m/sandpipe-agent",
  socketFolder: "/tmp/s",
  workspace: undefined,
  agentArguments: [],
};

describe("the command line of a container", () => {
  it("mounts the program and the socket, and has the agent end with its stdin", () => {
    assert.deepEqual(runArguments({ image: "node:22" }, parts), [
      ...["run", "--rm", "--interactive", "--name=sandpipe-1", "--pull=never"],
      ...["--pids-limit=2048", "--cap-drop=ALL", "--cap-add=CHOWN", "--cap-add=DAC_OVERRIDE"],
      ...["--cap-add=FOWNER", "--cap-add=KILL", "--cap-add=SETGID", "--cap-add=SETUID"],
      "--security-opt=no-new-privileges",
      "--mount=type=bind,source=/m/sandpipe-agent,destination=/run/sandpipe-agent,readonly",
      "--mount=type=bind,source=/tmp/s,destination=/run/sandpipe",
      ...["--entrypoint=/run/sandpipe-agent", "node:22"],
      ...["--until-stdin-closes", "--listen-socket", "/run/sandpipe/agent.sock"],
      ...["--admin-token-stdin", "--state-dir", "/tmp/sandpipe-agent", "--ephemeral"],
    ]);
  });

  it("mounts no socket where its standard streams carry what clients send", () => {
    const args = runArguments({ image: "node:22" }, { ...parts, socketFolder: undefined });
    for (const arg of ["--detach-keys=", "--log-driver=none", "--listen-stdio"]) {
      assert.ok(args.includes(arg), arg);
    }
    for (const arg of ["--listen-socket", "--until-stdin-closes"]) {
      assert.ok(!args.includes(arg), arg);
    }
    assert.equal(args.filter((arg) => arg.startsWith("--mount=")).length, 1);
  });

  it("has the workspace, the limits and the network that were asked for, and the agent's flags last", () => {
    const limits = { memory: "2g", cpus: 1.5, pids: 100, network: "none" };
    const options = { image: "a", workspaceAt: "/src", ...limits };
    const args = runArguments(options, {
      ...parts,
      workspace: "/home/me/p",
      agentArguments: ["--log", "info"],
    });
    const [engine, agent] = [args.slice(0, args.indexOf("a")), args.slice(args.indexOf("a"))];
    for (const arg of [
      ...["--memory=2g", "--cpus=1.5", "--pids-limit=100", "--network=none"],
      "--mount=type=bind,source=/home/me/p,destination=/src",
    ]) {
      assert.ok(engine.includes(arg), arg);
    }
    assert.deepEqual(agent.slice(-4), ["--workspace", "/src", "--log", "info"]);
  });

  it("adds no capability where all are to be dropped", () => {
    const args = runArguments({ image: "a", dropCapabilities: true }, parts);
    assert.ok(args.includes("--cap-drop=ALL"));
    assert.deepEqual(
      args.filter((arg) => arg.startsWith("--cap-add")),
      [],
    );
  });

  it("quotes what would be the end of a field", () => {
    const args = runArguments({ image: "a" }, { ...parts, workspace: '/a,b "c"' });
    assert.ok(args.includes('--mount=type=bind,"source=/a,b ""c""",destination=/workspace'));
  });

  it("removes a container without waiting", () => {
    assert.deepEqual(removeArguments("podman", "n"), ["rm", "--force", "--time=0", "n"]);
    assert.deepEqual(removeArguments("docker", "n"), ["rm", "--force", "n"]);
  });
});

describe("the options of a container", () => {
  it("are none where there is no image", () => {
    assert.equal(containerOptions({ workspace: "/w" }), undefined);
  });

  for (const [field, options] of /** @type {const} */ ([
    ["memory", { memory: "1g" }],
    ["network", { network: "none" }],
    ["image", { image: "" }],
    ["image", { image: "--privileged" }],
    ["image", { image: "a\0b" }],
    ["engine", { image: "a", engine: "lxc" }],
    ["memory", { image: "a", memory: "0" }],
    ["memory", { image: "a", memory: "1 GiB" }],
    ["cpus", { image: "a", cpus: NaN }],
    ["cpus", { image: "a", cpus: 0 }],
    ["pids", { image: "a", pids: -1 }],
    ["dropCapabilities", { image: "a", dropCapabilities: "yes" }],
    ["dropCapabilities", { dropCapabilities: true }],
    ["network", { image: "a", network: "" }],
    ["connection", { image: "a", connection: "tcp" }],
    ["connection", { connection: "stdio" }],
    ["workspaceAt", { image: "a", workspaceAt: "/src" }],
    ["workspaceAt", { image: "a", workspace: "/w", workspaceAt: "src" }],
  ])) {
    it(`are refused: ${JSON.stringify(options)}`, () => {
      assert.throws(
        () => containerOptions(/** @type {any} */ (options)),
        (error) =>
          error instanceof InvalidArgumentError && error.message.includes(`options.${field}`),
      );
    });
  }
});

it("an image's platform is read from its description", () => {
  const image = '[{"Id":"1","Architecture":"arm64","Os":"linux"}]';
  assert.deepEqual(readPlatform(image), { os: "linux", architecture: "arm64" });
  for (const other of ["", "[]", "null", "{}", "[{}]", "[1]"]) {
    assert.equal(readPlatform(other), undefined);
  }
});
