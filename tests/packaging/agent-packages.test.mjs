// @ts-check
// All packages as `npm run pack` makes them.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir, readFile, rm } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

import { AGENT_TARGETS } from "../../scripts/build/agent-targets.mjs";
import { dist, root } from "../../scripts/project.mjs";
import { temporaryFolder } from "../support/installed-package.mjs";
import { elfOf } from "./elf.mjs";
import { tarballs } from "./tarballs.mjs";

const execute = promisify(execFile);

const docs = join(root, "docs");
const MB = 1_000_000;
/** What the machine of an ELF file is, by Node.js's name (elf(5)). */
const MACHINES = { x64: 62, arm64: 183 };

const { version } = JSON.parse(await readFile(join(dist, "package.json"), "utf8"));

it("npm run --silent pack prints nothing, and packs every package for every platform", async () => {
  const folder = await temporaryFolder();
  try {
    // From another folder than the project's root: a path is meant from where it is typed.
    const packing = execute("npm", ["run", "--silent", "pack", "--", relative(docs, folder)], {
      cwd: docs,
    });
    const { stdout, stderr } = await packing;
    assert.deepEqual({ stdout, stderr }, { stdout: "", stderr: "" });
    const packed = Object.values(tarballs).map((file) => basename(file));
    const expected = [...packed, "server.json"];
    assert.deepEqual((await readdir(folder)).sort(), expected.sort());
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe("the agent's packages", () => {
  it("are the root package's optional dependencies, of exactly its version", async () => {
    const { optionalDependencies } = await manifest("sandpipe");
    const agents = Object.keys(tarballs).filter((name) => name !== "sandpipe");
    assert.deepEqual(
      optionalDependencies,
      Object.fromEntries(agents.map((name) => [name, version])),
    );
    /** @type {{ AGENT_PLATFORMS: readonly string[], agentPackage: (platform: string) => string }} */
    const { AGENT_PLATFORMS, agentPackage } = await import("../../dist/node/agent-program.js");
    assert.deepEqual(AGENT_PLATFORMS.map(agentPackage).sort(), agents.sort());
  });

  for (const { os, cpu } of AGENT_TARGETS) {
    const name = `@sandpipe/agent-${os}-${cpu}`;

    it(`${name} has one static binary for its processor, and nothing that runs at install`, async () => {
      const { os: systems, cpu: cpus, scripts, version: own } = await manifest(name);
      assert.deepEqual(
        { systems, cpus, scripts, own },
        // Where the system is another, it runs in containers.
        { systems: undefined, cpus: [cpu], scripts: undefined, own: version },
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
      // Nothing tells where it was built.
      for (const path of [root, "/registry/src/"]) assert.ok(!binary.includes(path), path);
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

/** @param {string} name */
async function manifest(name) {
  return JSON.parse((await read(name, "package.json")).toString());
}

/**
 * A file of a package.
 *
 * @param {string} name
 * @param {string} path
 */
async function read(name, path) {
  const options = { encoding: /** @type {const} */ ("buffer"), maxBuffer: 100 * MB };
  const args = ["--extract", "--to-stdout", "--file", String(tarballs[name]), `package/${path}`];
  return (await execute("tar", args, options)).stdout;
}

/** The modes of a package's files, as `ls -l` has them. @param {string} name */
async function modesIn(name) {
  const { stdout } = await execute("tar", [
    "--list",
    "--verbose",
    "--file",
    String(tarballs[name]),
  ]);
  const lines = stdout.trim().split("\n");
  const files = lines.map((line) => [line.split(" package/").at(-1), line.split(" ")[0]]);
  return Object.fromEntries(files.sort());
}
