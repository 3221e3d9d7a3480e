// @ts-check
// Commands that replace what runs them: npm puts the agent into the workspace, and npx keeps programs in the home.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { agent as program } from "../../scripts/project.mjs";
import { noBubblewrap } from "../support/bubblewrap.mjs";
import { visibleDirectory } from "../tools/visible-directory.mjs";

describe("commands in a project that has the agent installed", { skip: noBubblewrap }, () => {
  const folder = visibleDirectory();
  const [home, project, ran] = ["home", "project", "ran"].map((name) => join(folder, name));
  const file = join(project ?? "", "node_modules/@sandpipe/agent-of-test/sandpipe-agent");
  const { HOME, SANDPIPE_AGENT } = process.env;

  /**
   * Packs a package, without the compression that takes `npm pack` a minute on a busy machine.
   *
   * @param {string} name @param {string} bin @param {(file: string) => void} write
   */
  function pack(name, bin, write) {
    const path = join(folder, bin, "package");
    mkdirSync(path, { recursive: true });
    write(join(path, bin));
    const manifest = { name, version: "1.0.0", bin: { [bin]: bin } };
    writeFileSync(join(path, "package.json"), JSON.stringify(manifest));
    const tarball = join(folder, `${bin}.tar`);
    execFileSync("tar", ["-cf", tarball, "-C", join(folder, bin), "package"]);
    return tarball;
  }

  /** Runs scripts in an agent of its own. @param {string[]} scripts */
  async function run(...scripts) {
    const agent = await startAgent({ policy: "workspace", workspace: project });
    const sandbox = await connect(agent);
    try {
      const results = [];
      for (const script of scripts) results.push(await sandbox.execs.exec("sh", ["-c", script]));
      return results;
    } finally {
      sandbox.close();
      await agent.stop();
    }
  }

  before(() => {
    for (const path of [home, project]) mkdirSync(join(path ?? "", ".npm"), { recursive: true });
    process.env["HOME"] = home;
    process.env["SANDPIPE_AGENT"] = file;
    const tarball = pack("@sandpipe/agent-of-test", "sandpipe-agent", (path) =>
      copyFileSync(program, path),
    );
    const dependencies = { "@sandpipe/agent-of-test": `file:${tarball}` };
    writeFileSync(
      join(project ?? "", "package.json"),
      JSON.stringify({ private: true, dependencies }),
    );
    execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund"], { cwd: project });
  });
  after(() => {
    for (const [name, value] of Object.entries({ HOME, SANDPIPE_AGENT })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    rmSync(folder, { recursive: true });
  });

  it("install it again by `npm ci`, and go on", async () => {
    const [installed, next] = await run("npm ci --offline --no-audit --no-fund", "exit 3");
    assert.equal(installed?.exitCode, 0, installed?.output);
    assert.equal(next?.exitCode, 3);
    assert.equal((await run("exit 4"))[0]?.exitCode, 4);
  });

  it("have no other program started as the next agent of the same process", async () => {
    const planted = `#!/bin/sh\n: > '${ran}'\n`;
    const script = `printf %s "$1" > planted && chmod 755 planted && mv planted '${file}'`;
    const [replaced] = await run(`set -- "${planted}"; ${script}`);
    assert.equal(replaced?.exitCode, 0, replaced?.output);
    assert.equal(readFileSync(file, "utf8"), planted);
    assert.equal((await run("exit 5"))[0]?.exitCode, 5);
    assert.ok(!existsSync(ran ?? ""));
  });

  it("run a package by npx, of which nothing is left in the home", async () => {
    const tool = pack("tool", "tool", (path) =>
      writeFileSync(path, "#!/bin/sh\necho tool ran\nexit 6\n", { mode: 0o755 }),
    );
    const npm = join(home ?? "", ".npm");
    const npx = `npx -y --offline --package='${tool}' tool`;
    const [first, second] = await run(npx, npx);
    for (const ended of [first, second]) {
      assert.deepEqual([ended?.exitCode, ended?.stdout], [6, "tool ran\n"], ended?.output);
    }
    assert.ok(!readdirSync(npm).includes("_npx"));
    // What the user has there is hidden.
    mkdirSync(join(npm, "_npx"));
    writeFileSync(join(npm, "_npx/own"), "");
    const [listed] = await run("ls ~/.npm/_npx; : > ~/.npm/_npx/planted");
    assert.deepEqual([listed?.exitCode, listed?.output], [0, ""]);
    assert.deepEqual(readdirSync(join(npm, "_npx")), ["own"]);
  });
});
