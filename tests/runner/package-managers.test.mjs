// @ts-check
// The package managers that continuous integration installs.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";

import { root } from "../../scripts/project.mjs";
import { temporaryDirectory } from "../support/target.mjs";

const MODULE = pathToFileURL(join(root, "scripts/setup/package-managers.mjs")).href;
const skip = process.getuid?.() !== 0 && "it needs root";

/**
 * Prepares on a machine that has these programs, and returns what installers were asked for.
 *
 * @param {readonly string[]} programs
 * @param {Record<string, string>} env
 */
function installed(programs, env) {
  const path = temporaryDirectory();
  const log = join(path, "log");
  const add = (/** @type {string} */ name, /** @type {string} */ script) => {
    writeFileSync(join(path, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(path, name), 0o755);
  };
  for (const name of ["npm", "pip3", "apt-get"]) {
    const asked = `case "$*" in --version | update) ;; *) echo ${name} "$@" >> '${log}' ;; esac`;
    add(name, asked);
  }
  for (const name of [...programs, "curl", "wget"]) add(name, "echo 1.0");
  symlinkSync(process.execPath, join(path, "node"));
  try {
    const script = `await (await import("${MODULE}")).preparePackageManagers();`;
    const args = ["--input-type=module", "--eval", script];
    const options = { env: { PATH: path, ...env }, encoding: /** @type {const} */ ("utf8") };
    const { status, stderr } = spawnSync(process.execPath, args, options);
    assert.equal(status, 0, stderr);
    const lines = existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];
    return lines.filter((line) => !line.startsWith("apt-get")).sort();
  } finally {
    rmSync(path, { recursive: true });
  }
}

describe("the package managers of the tests of stores", { skip }, () => {
  it("are installed as root of a machine of continuous integration", () => {
    const [npm = "", pip = "", ...others] = installed([], { CI: "true" });
    assert.match(npm, /^npm install --global .*\bpnpm@10\.\S+ bun@\S+$/);
    assert.match(pip, /^pip3 install .*\buv==\S+ poetry==\S+$/);
    assert.deepEqual(others, []);
  });

  it("are left where they are there", () => {
    const lines = installed(["pnpm", "uv", "poetry"], { CI: "true" });
    assert.match(lines.join("\n"), /^npm install --global --ignore-scripts=false bun@\S+$/);
    assert.deepEqual(installed(["pnpm", "bun", "uv", "poetry"], { CI: "true" }), []);
  });

  it("are not installed on a machine of somebody's own", () => {
    assert.deepEqual(installed([], {}), []);
  });
});
