// @ts-check
// Programs in the workspace that have the names of those that the program `sandpipe` starts. npx begins `PATH` with `node_modules/.bin`.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";

import { installSandpipe } from "../support/installed-cli.mjs";
import { noBubblewrap } from "../support/bubblewrap.mjs";
import { until } from "../support/processes.mjs";

/** Every program that is started by its name. */
const PLANTED = ["bwrap", "docker", "open", "podman", "sandpipe-agent", "sh", "ssh", "xdg-open"];

describe("a program in node_modules/.bin", () => {
  const elsewhere = realpathSync(mkdtempSync(join(tmpdir(), "sandpipe-test-")));
  const ran = join(elsewhere, "ran");
  /** @type {Awaited<ReturnType<typeof installSandpipe>>} */
  let sandpipe;
  /** @type {string} */
  let bin;

  before(async () => {
    sandpipe = await installSandpipe();
    bin = join(sandpipe.path, "node_modules", ".bin");
    for (const name of PLANTED) write(join(bin, name), `echo ${name} >>'${ran}'; exit 1`);
  });
  beforeEach(() => rmSync(ran, { force: true }));
  after(async () => {
    await sandpipe.remove();
    rmSync(elsewhere, { recursive: true });
  });

  /** @param {string} path @param {string} script */
  function write(path, script) {
    writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }

  /** The environment of npx. @param {string[]} more directories of `PATH` */
  const asByNpx = (...more) => ({ PATH: [bin, ...more, process.env["PATH"]].join(":") });

  function assertNoneRan() {
    assert.ok(!existsSync(ran), existsSync(ran) ? readFileSync(ran, "utf8") : "");
  }

  it("is not taken for bubblewrap", { skip: noBubblewrap }, async () => {
    const args = ["run", "--policy", "strict", "--", "/bin/sh", "-c", "exit 3"];
    const { exitCode, stderr } = await sandpipe.run(args, { env: asByNpx() });
    assert.equal(exitCode, 3, stderr);
    assertNoneRan();
  });

  it("is what a command gets that asks for it", async () => {
    const args = ["run", "--policy", "open", "--", "podman"];
    const { exitCode } = await sandpipe.run(args, { env: asByNpx() });
    assert.deepEqual([exitCode, readFileSync(ran, "utf8")], [1, "podman\n"]);
  });

  it("is not taken for the agent, and is named with the reason", async () => {
    const env = { PATH: `${bin}:/usr/bin:/bin`, SANDPIPE_AGENT: "sandpipe-agent" };
    const { exitCode, stderr } = await sandpipe.run(["run", "--", "true"], { env });
    assert.equal(exitCode, 125);
    const file = JSON.stringify(join(bin, "sandpipe-agent"));
    const message = `every sandpipe-agent in PATH is left out: ${file} (it is in a directory node_modules)`;
    assert.ok(stderr.includes(message), stderr);
    assertNoneRan();
  });

  it("is not taken for a container engine", async () => {
    const args = ["run", "--image", "no-such-image:1", "--", "true"];
    // An engine may leave files of its own.
    const { exitCode, stderr } = await (await sandpipe.start(args, { env: asByNpx() })).end;
    assert.deepEqual([exitCode, /no-such-image|node_modules/.test(stderr)], [125, true], stderr);
    assertNoneRan();
  });

  it("is not taken for OpenSSH", async () => {
    const args = ["bg", "ls", "--ssh", "no-such-host.invalid"];
    const { exitCode, stderr } = await (await sandpipe.start(args, { env: asByNpx() })).end;
    assert.deepEqual([exitCode, /no-such-host|node_modules/.test(stderr)], [125, true], stderr);
    assertNoneRan();
  });

  it("is not taken for the shell of this machine as a runtime", () => {
    writeFileSync(
      join(sandpipe.path, "run.mjs"),
      `import { localRuntime } from "sandpipe/node";
       const { exitCode, output } = await localRuntime().run("echo here; exit 4");
       console.log(exitCode, output);`,
    );
    const options = { cwd: sandpipe.path, env: { ...process.env, ...asByNpx() } };
    const said = execFileSync(process.execPath, ["--", "run.mjs"], options);
    assert.equal(String(said), "4 here\n\n");
    assertNoneRan();
  });

  it("opens no browser, and what opens one starts none by its name", async () => {
    const opened = join(elsewhere, "opened");
    // As the real one does.
    write(
      join(elsewhere, "xdg-open"),
      `podman; echo "$1" >'${opened}.new'; mv '${opened}.new' '${opened}'`,
    );
    write(join(elsewhere, "podman"), "true");
    const flags = [
      "--listen",
      "127.0.0.1:0",
      "--ephemeral",
      "--state-dir",
      join(elsewhere, "state"),
    ];
    const env = asByNpx(elsewhere);
    const invocation = await sandpipe.start(["console", "--", ...flags], { env });
    await until(() => existsSync(opened) || existsSync(ran));
    invocation.child.kill("SIGINT");
    await invocation.end;
    assert.ok(existsSync(opened));
    assertNoneRan();
  });
});
