// @ts-check
// No secret or setting of Sandpipe's own environment reaches what it runs.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { background, connect } from "sandpipe";
import { localRuntime, sshRuntime, startAgent } from "sandpipe/node";
import { tools } from "sandpipe/tools";

// No part of the package's interface.
import { openInBrowser } from "../../dist/cli/open-in-browser.js";
import { idsOfAgent, until } from "../support/processes.mjs";
import { startSshd } from "../support/sshd.mjs";

describe("the environment of what is run", () => {
  const SECRETS = {
    SANDPIPE_URL: "http://127.0.0.1:1",
    SANDPIPE_TOKEN: "the-client-s-secret",
    SANDPIPE_ADMIN_TOKEN: "an-agent-s-secret",
    SANDPIPE_READONLY_TOKEN: "another-secret",
    SANDPIPE_ANYTHING: "a setting",
  };
  const usual = { ...process.env };
  /** @type {string} */
  let folder;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
    Object.assign(process.env, SECRETS, { FROM_OUTSIDE: "is inherited" });
  });
  after(() => {
    for (const name of [...Object.keys(SECRETS), "FROM_OUTSIDE"]) {
      if (usual[name] === undefined) delete process.env[name];
      else process.env[name] = usual[name];
    }
    rmSync(folder, { recursive: true });
  });

  /** @param {string} environment what `env` says, or /proc */
  const assertClean = (environment) => {
    assert.match(environment, /(^|\0)FROM_OUTSIDE=is inherited/m);
    // A background process has its id there, a command of an agent its namespace.
    const own = environment.split(/[\n\0]/).filter((line) => line.startsWith("SANDPIPE_"));
    assert.deepEqual(
      own.filter((line) => !/^SANDPIPE_(PROCESS|NAMESPACE)=/.test(line)),
      [],
    );
    for (const secret of Object.values(SECRETS)) assert.ok(!environment.includes(secret));
  };

  it("has none on this machine", async () => {
    const local = localRuntime();
    assertClean((await local.run("env")).output);
    // It comes in another way.
    assertClean((await local.run(`env # ${"x".repeat(200_000)}`)).output);
  });

  it("has none in the background, and for the tools of AI agents", async () => {
    const processes = background(localRuntime(), { baseDir: join(folder, "processes") });
    assertClean((await processes.run("env")).output);
    const { id } = await processes.spawn("env");
    await processes.wait(id);
    assertClean((await processes.readOutput(id)).output);
    const [bash] = tools(localRuntime(), { baseDir: join(folder, "tools") });
    assertClean(String(await bash?.execute({ script: "env" })));
  });

  it("has none over SSH, also where the configuration sends all", async (t) => {
    const server = await startSshd({ settings: ["AcceptEnv *"] });
    const configFile = join(folder, "config");
    writeFileSync(configFile, "SendEnv *\n");
    const ssh = sshRuntime({ ...server.options, configFile });
    t.after(async () => {
      await ssh.close();
      await server.stop();
    });
    assertClean((await ssh.run("env")).output);
  });

  it("has none in what opens a browser", async (t) => {
    const { PATH } = process.env;
    t.after(() => (process.env["PATH"] = PATH));
    process.env["PATH"] = `${folder}:${PATH}`;
    const file = join(folder, "opened");
    const script = `#!/bin/sh\nenv >'${file}.new'; mv '${file}.new' '${file}'\n`;
    writeFileSync(join(folder, "xdg-open"), script, { mode: 0o755 });
    const page = await openInBrowser("http://127.0.0.1:1/#token=x");
    assert.ok(page.opened);
    await until(() => existsSync(file));
    await page.remove();
    assertClean(readFileSync(file, "utf8"));
  });

  it("has none at an agent of one's own, nor has that the caller's", async (t) => {
    const agent = await startAgent();
    t.after(() => agent.stop());
    const sandbox = await connect(agent);
    t.after(() => sandbox.close());
    assertClean((await sandbox.run("env")).output);
    const ids = await idsOfAgent((script) => sandbox.run(script));
    // The process that starts commands had none to begin with, and none but root may look.
    const environ = `/proc/${ids.box}/environ`;
    if (process.getuid?.() === 0) assert.equal(readFileSync(environ, "utf8"), "");
    else assert.throws(() => readFileSync(environ), { code: "EACCES" });
    const itsOwn = readFileSync(`/proc/${ids.agent}/environ`, "utf8").replace(
      /SANDPIPE_ADMIN_TOKEN=[^\0]*/,
      "",
    );
    assertClean(itsOwn);
  });
});
