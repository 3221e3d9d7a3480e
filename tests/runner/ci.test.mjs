// @ts-check
// What runs the suites for every change.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { root } from "../../scripts/project.mjs";
import { SUITES } from "../../scripts/suites/suites.mjs";
import { temporaryDirectory } from "../support/target.mjs";

const read = (/** @type {string} */ path) => readFileSync(join(root, path), "utf8");

describe("continuous integration", () => {
  it("runs each suite in one of the workflow's jobs", () => {
    const jobs = read(".github/workflows/ci.yml").matchAll(/^ +suites: (?<suites>.+)$/gm);
    const named = [...jobs].flatMap(({ groups = {} }) => groups["suites"]?.split(" ") ?? []);
    const suites = SUITES.filter(({ isOnlyNamed = false }) => !isOnlyNamed);
    assert.deepEqual(named.sort(), suites.map(({ name }) => name).sort());
  });

  it("publishes no commit that it has not passed", () => {
    const release = read(".github/workflows/release.yml");
    const jobs = [...release.matchAll(/^ {2}(?<name>\w+):\n(?<text>(?: {4}.*\n|\n)+)/gm)];
    const of = new Map(jobs.map(({ groups = {} }) => [groups["name"], groups["text"] ?? ""]));
    assert.match(of.get("build") ?? "", /^ {4}needs: passed$/m);
    assert.match(of.get("publish") ?? "", /^ {4}needs: build$/m);
    const script = /^ {8}run: \|\n(?<script>(?: {10}.*\n)+)/m.exec(of.get("passed") ?? "");
    for (const [passed, exitCode] of /** @type {const} */ ([
      ["0", 1],
      ["1", 0],
      ["2", 0],
      ["", 1],
    ])) {
      const path = temporaryDirectory();
      // It takes only what is asked for here.
      const asked =
        "run list --repo o/r --workflow ci.yml --branch main --event push --commit abc --status success";
      writeFileSync(
        join(path, "gh"),
        `#!/bin/sh\ncase "$*" in "${asked} "*) echo ${passed} ;; *) exit 9 ;; esac\n`,
      );
      chmodSync(join(path, "gh"), 0o755);
      const { status, stdout } = spawnSync(
        "bash",
        ["-eo", "pipefail", "-c", script?.groups?.["script"] ?? "exit 9"],
        {
          env: {
            PATH: `${path}:${process.env["PATH"]}`,
            GITHUB_SHA: "abc",
            GITHUB_REPOSITORY: "o/r",
          },
          encoding: "utf8",
        },
      );
      rmSync(path, { recursive: true });
      assert.equal(status === 0 ? 0 : 1, exitCode, stdout);
      assert.equal(stdout.includes("::error::CI has not passed abc"), exitCode === 1);
    }
  });

  it("runs everything in a clean checkout", () => {
    assert.match(read(".ci/run"), /^export CI=true\nexec npm test\n$/m);
  });
});
