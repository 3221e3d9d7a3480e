// @ts-check
// Sandboxes that are confined by default.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { AgentError, isSandpipeError } from "sandpipe";
import { createSandbox, startAgent } from "sandpipe/node";

import { withWayOn } from "../../dist/node/unenforced.js";
import { noBubblewrap } from "../support/bubblewrap.mjs";

/** Writes to its working directory, and tries to write beside it. */
const WRITE = "echo inside > file; echo outside > ../outside; exit 3";

describe("createSandbox", () => {
  /** @type {string} */
  let folder;
  /** @type {string} */
  let workspace;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "sandpipe-create-"));
    workspace = mkdtempSync(join(folder, "workspace-"));
  });
  after(() => rmSync(folder, { recursive: true }));

  it("confines commands by the policy `workspace`", { skip: noBubblewrap }, async () => {
    const sandbox = await createSandbox({ workspace });
    assert.equal(await sandbox.policy(), "workspace");
    assert.equal((await sandbox.execs.exec("sh", ["-c", WRITE])).exitCode, 3);
    assert.ok(!existsSync(join(folder, "outside")));
    await sandbox.stop();
    assert.deepEqual(readdirSync(workspace), ["file"]);
    await assert.rejects(sandbox.execs.list(), (error) => isSandpipeError(error, "closed"));
    await sandbox.stop();
  });

  it("has another policy where one is given", async () => {
    const sandbox = await createSandbox({ workspace, policy: "open" });
    assert.equal(await sandbox.policy(), "open");
    assert.equal((await sandbox.execs.exec("sh", ["-c", WRITE])).exitCode, 3);
    assert.ok(existsSync(join(folder, "outside")));
    await sandbox.stop();
  });

  it("stops its commands when it is disposed of", async () => {
    const sandbox = await createSandbox({ workspace, policy: "open" });
    const { pid } = await sandbox.execs.create({ command: "sleep", args: ["1000"] });
    assert.ok(existsSync(`/proc/${pid}`));
    await sandbox[Symbol.asyncDispose]();
    assert.ok(!existsSync(`/proc/${pid}`));
  });

  it("refuses a workspace that can't be confined", { skip: noBubblewrap }, async () => {
    await assert.rejects(createSandbox({ workspace: homedir() }), (error) => {
      assert.ok(error instanceof AgentError);
      const told = /the workspace .* holds the home .*`workspace`.*`policy: "open"`.*`image`/;
      assert.match(error.message, told);
      return true;
    });
  });

  it("names what to install and the way without, where there is no bubblewrap", async () => {
    const { PATH } = process.env;
    process.env["PATH"] = folder;
    const error = await createSandbox({ workspace }).catch((error) => error);
    process.env["PATH"] = PATH;
    assert.ok(error instanceof AgentError);
    assert.match(error.message, /apt-get install bubblewrap.*give `policy: "open"`/);
    assert.equal(error.message.match(/no bwrap in PATH/g)?.length, 1, error.message);
  });

  it("names no way on without a policy where an image is given", async () => {
    const says = "#!/bin/sh\necho 'a policy needs bubblewrap' >&2\nexit 1\n";
    writeFileSync(join(folder, "docker"), says, { mode: 0o755 });
    const { PATH } = process.env;
    process.env["PATH"] = folder;
    const error = await createSandbox({ image: "image.example" }).catch((error) => error);
    process.env["PATH"] = PATH;
    assert.ok(error instanceof AgentError, String(error));
    assert.match(error.message, /a policy needs bubblewrap/);
    assert.ok(!error.message.includes('`policy: "open"`'), error.message);
  });

  it("names a way on for whatever can't be enforced, and for nothing else", () => {
    for (const [message, isTold] of /** @type {const} */ ([
      ["the system does not let files be watched that the policy names: EACCES", true],
      ["too many: raise fs.inotify.max_user_instances (sysctl)", true],
      ["write x: it has no effect, as the rule hide x is for the same place and narrower", true],
      ["the workspace /tmp is not there for commands: choose another with --workspace DIR", true],
      ["address already in use", false],
    ])) {
      const error = withWayOn(new AgentError(message), "Or so.");
      assert.ok(error instanceof AgentError);
      assert.equal(error.message, isTold ? `${message}. Or so.` : message);
    }
  });

  it("refuses a workspace that commands would not see", { skip: noBubblewrap }, async () => {
    const told = /the workspace \/tmp is not there for commands.*What they write would be lost/;
    const isIt = (/** @type {unknown} */ error) => {
      assert.ok(error instanceof AgentError);
      assert.match(error.message, told);
      return true;
    };
    await assert.rejects(createSandbox({ workspace: "/tmp" }), isIt);
    await assert.rejects(startAgent({ workspace: "/tmp", policy: "strict" }), isIt);
    const below = mkdtempSync("/tmp/sandpipe-create-");
    const sandbox = await createSandbox({ workspace: below });
    await sandbox.execs.exec("touch", ["file"]);
    await sandbox.stop();
    assert.deepEqual(readdirSync(below), ["file"]);
    rmSync(below, { recursive: true });
  });

  it("refuses options that would have no effect", async () => {
    for (const wrong of /** @type {any[]} */ ([{ polciy: "strict" }, "strict", null])) {
      await assert.rejects(createSandbox(wrong), (error) => {
        assert.ok(isSandpipeError(error, "invalid_argument"), String(error));
        return true;
      });
    }
  });
});
