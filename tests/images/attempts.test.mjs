// @ts-check
// The column of an image in the table of attempts, as root of the container and as another user.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { AGENT_TARGETS } from "../../scripts/build/agent-targets.mjs";
import { root } from "../../scripts/project.mjs";
import { IMAGE, noSmallImage, setUpPodman } from "../support/podman.mjs";
import { attempts, fill, PROGRAM } from "./attempts.mjs";
import { EXHAUSTIBLE, exhaustion, mountSmallDisk, unmount } from "./exhaustion.mjs";

/** @import { StartAgentOptions } from "sandpipe/node" */
/** @import { Attempter } from "./attempts.mjs" */

/** The columns of docs/isolation.md, and who each is in the container. */
const USERS = /** @type {const} */ ([
  ["an image, root", "0:0"],
  ["an image, user", "1000:1000"],
]);

/** What has to be reached, or nothing was tried. */
const REACHED = [
  "write `.git/hooks`",
  "put another `.git` in place",
  "have npm run a shell of its own by `.npmrc`",
  "put another `.vscode` in place",
];

// Files are given to other users, and a disk is mounted.
const skip = noSmallImage || (process.getuid?.() === 0 ? false : "only root can mount a disk");

describe("attempts in an image", { skip }, () => {
  /** @type {Awaited<ReturnType<typeof setUpPodman>>} */
  let podman;
  /** @type {string} */
  let folder;

  before(async () => {
    podman = await setUpPodman();
    folder = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
    compile(join(folder, PROGRAM));
    process.env["SERVICE_TOKEN"] = "of another service";
  });

  after(async () => {
    delete process.env["SERVICE_TOKEN"];
    await podman.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  /**
   * Has something tried at an agent of its own.
   *
   * @template T
   * @param {string} user
   * @param {StartAgentOptions & { workspace: string }} options
   * @param {(attempter: Attempter, url: string) => Promise<T>} work
   */
  async function tryAt(user, options, work) {
    const agent = await startAgent({ image: IMAGE, network: "none", ...options });
    const sandbox = await connect(agent);
    try {
      const [name = ""] = await podman.containers();
      const pid = await podman.podman("inspect", "--format", "{{.State.Pid}}", name);
      const attempter = { execs: sandbox.execs, user, workspace: options.workspace, agent: pid };
      return await work(attempter, agent.url);
    } finally {
      sandbox.close();
      await agent.stop();
    }
  }

  for (const [column, user] of USERS) {
    it(`come to what the table says: ${column}`, async () => {
      const [workspace, home, disk] = ["workspace", "home", "disk"].map((name) => {
        const path = join(folder, `${name}-${user.replace(":", "-")}`);
        mkdirSync(path);
        return path;
      });
      assert.ok(workspace && home && disk);
      fill(workspace, home);
      execFileSync("install", [join(folder, PROGRAM), workspace]);
      const outcomes = await tryAt(user, { workspace }, (attempter, url) =>
        attempts(attempter, { home, url }),
      );
      mountSmallDisk(disk);
      try {
        outcomes.push(...(await tryAt(user, { workspace: disk, ...EXHAUSTIBLE }, exhaustion)));
      } finally {
        unmount(disk);
      }
      const table = outcomes.map(([name, outcome]) => `| ${name} | ${outcome} |\n`).join("");
      console.log(`${column}\n${table}`);
      const documented = readColumn(column);
      // What can't be tried in an image has no outcome there.
      const tried = [...documented].filter(([, outcome]) => outcome !== "–");
      assert.deepEqual(tried.map(([name]) => name).sort(), outcomes.map(([name]) => name).sort());
      for (const [name, outcome] of outcomes) {
        // Another engine, or kernel, may hold more.
        const isRight = [documented.get(name), "held"].includes(outcome);
        assert.ok(isRight, `${name}: ${outcome}\n${table}`);
        assert.ok(outcome === "reached" || !REACHED.includes(name), `${name}\n${table}`);
      }
    });
  }
});

/** Builds the program that tries, so that it runs in any image. @param {string} program */
function compile(program) {
  const target = AGENT_TARGETS.find(
    ({ os, cpu }) => os === process.platform && cpu === process.arch,
  );
  assert.ok(target);
  const source = join(root, "tests", "support", "attempt.rs");
  const args = ["--edition=2024", "--target", target.rust, "-C", "linker=rust-lld"];
  execFileSync("rustc", [...args, "-o", program, source], { cwd: root });
}

/**
 * What the table of docs/isolation.md says of each attempt in a column.
 *
 * @param {string} column
 */
function readColumn(column) {
  const text = readFileSync(join(root, "docs", "isolation.md"), "utf8");
  const rows = text
    .slice(text.indexOf("| attempt |"))
    .split("\n\n", 1)
    .flatMap((table) => table.split("\n"))
    .map((row) => row.split("|").map((cell) => cell.trim()));
  const [header = [], , ...attempted] = rows;
  const index = header.indexOf(column);
  assert.ok(index > 0, `docs/isolation.md has no column ${column}`);
  return new Map(attempted.map((cells) => [cells[1], cells[index]]));
}
