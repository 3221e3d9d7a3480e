// @ts-check
// The core is built by the steps of wasm-pack, without it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";

import { withoutLocalPaths } from "../../scripts/build/local-paths.mjs";
import { bindings, root, target } from "../../scripts/project.mjs";
import { temporaryFolder } from "../support/installed-package.mjs";

/** @type {string} */
let folder;
before(async () => {
  folder = await temporaryFolder();
});
after(() => rm(folder, { recursive: true, force: true }));

describe("the core", () => {
  it("is what wasm-pack builds", async () => {
    const programs = [join(target, "checkout"), join(root, "node_modules", ".bin")];
    const env = {
      ...process.env,
      PATH: [...programs, process.env["PATH"]].join(delimiter),
      CARGO_TARGET_DIR: target,
    };
    const form = ["--mode", "no-install", "--no-pack", "--target", "web", "--profile", "wasm"];
    const where = ["--out-dir", folder, "--out-name", "sandpipe"];
    const cargo = ["--locked", "--package", "sandpipe"];
    const flags = withoutLocalPaths("wasm32-unknown-unknown");
    const args = ["build", ...form, ...where, "--", ...cargo, ...flags];
    await promisify(execFile)("wasm-pack", args, { cwd: root, env });
    for (const name of ["sandpipe_bg.wasm", "sandpipe.js", "sandpipe.d.ts"]) {
      const [built, expected] = await Promise.all(
        [bindings, folder].map((one) => readFile(join(one, name))),
      );
      assert.ok(built?.equals(expected ?? Buffer.alloc(0)), `${name} differs`);
    }
  });
});
