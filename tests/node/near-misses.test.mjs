// @ts-check
// What the errors of near misses say.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { background, connect, isSandpipeError } from "sandpipe";
import { createSandbox, forwardPort, startAgent, upload } from "sandpipe/node";
import { tools } from "sandpipe/tools";

import { suggest } from "../../dist/wrong-value.js";
import { noBubblewrap } from "../support/bubblewrap.mjs";
import { failure } from "../support/script.mjs";

/** @type {Awaited<ReturnType<typeof startAgent>>} */
let agent;
/** @type {import("sandpipe").Sandbox} */
let sandbox;
/** @type {string} */
let directory;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), "sandpipe-misses-"));
  agent = await startAgent({ workspace: directory });
  sandbox = await connect(agent);
});
after(async () => {
  sandbox.close();
  await agent.stop();
  await rm(directory, { recursive: true });
});

/** The message of a call that is refused. @param {(sandbox: any) => unknown} call */
async function refusal(call) {
  const error = await failure((async () => call(sandbox))());
  assert.ok(isSandpipeError(error, "invalid_argument"), String(error));
  return error.message;
}

describe("an option that is misspelt", () => {
  /** @type {[string, (sandbox: any) => unknown][]} */
  const calls = [
    ["timeoutMs", ({ execs }) => execs.exec("true", [], { timeout: 1 })],
    ["timeoutMs", ({ execs }) => execs.exec("true", [], { timeoutMS: 1 })],
    ["maxOutputBytes", ({ execs }) => execs.wait("1", { maxOutput: 1 })],
    ["args", ({ execs }) => execs.create({ command: "true", arg: [] })],
    ["recursive", ({ files }) => files.remove("f", { recursiv: true })],
    ["signal", ({ files }) => files.readStream("f", { abortSignal: undefined })],
    ["endedBefore", ({ execs }) => execs.remove({ endedbefore: 1 })],
    ["workspace", () => startAgent(/** @type {any} */ ({ workspaces: "." }))],
    ["policy", () => createSandbox(/** @type {any} */ ({ polcy: "open" }))],
    ["localPort", (sandbox) => forwardPort(sandbox, 1, /** @type {any} */ ({ localport: 1 }))],
    ["timeoutSecs", (sandbox) => tools(sandbox, /** @type {any} */ ({ timeoutSec: 1 }))],
  ];
  for (const [meant, call] of calls) {
    it(`is asked about: ${meant} of ${String(call).replace(/^.*=> /, "")}`, async () => {
      assert.ok((await refusal(call)).endsWith(`: did you mean \`${meant}\`?`));
    });
  }

  it("is not asked about where nothing is like it", async () => {
    const message = await refusal(({ execs }) => execs.exec("true", [], { colour: 1 }));
    assert.match(message, /but is one with "colour"$/);
    for (const name of ["", "x", "ms", "user1234", "__proto__"]) {
      assert.equal(suggest(name, ["env", "cwd", "timeoutMs"]), "");
    }
  });
});

describe("an argument that is nearly right", () => {
  it("is an address in place of options", async () => {
    for (const address of ["http://127.0.0.1:1/", new URL("http://127.0.0.1:1/")]) {
      const message = await refusal(() => connect(/** @type {any} */ (address)));
      assert.match(message, /Write connect\(\{ url: "http:\/\/127\.0\.0\.1:1\/" \}\)\.$/);
    }
  });

  it("is a promise that was not awaited", async () => {
    const later = /** @type {any} */ (Promise.resolve(sandbox));
    for (const call of [
      () => connect(later),
      () => tools(later),
      () => background(later).list(),
      () => upload(later, directory, "there"),
      () => forwardPort(later, 1),
    ]) {
      assert.match(await refusal(call), /must be awaited, but is a Promise: `await` it first$/);
    }
  });

  it("is an AbortController in place of its signal", async () => {
    const signal = /** @type {any} */ (new AbortController());
    for (const call of [
      () => sandbox.execs.exec("true", [], { signal }),
      () => sandbox.files.readStream("f", { signal }),
      () => upload(sandbox, directory, "there", { signal }),
    ]) {
      const message = await refusal(call);
      assert.match(
        message,
        /must be an AbortSignal, but is an AbortController: pass its `signal`$/,
      );
    }
  });

  it("is https:// for an agent that speaks http", async () => {
    const { url, token } = agent;
    const address = { url: url.replace("http:", "https:"), token, retry: { maxAttempts: 1 } };
    const error = await failure((await connect(address)).execs.list());
    assert.ok(isSandpipeError(error, "network"));
    assert.match(
      error.message,
      /it does not speak TLS: an agent without TLS has an address with http:\/\/\. Check/,
    );
  });

  it("is a directory without `recursive`", async () => {
    await sandbox.files.write("full/f", "");
    const error = await failure(sandbox.files.remove("full"));
    assert.ok(isSandpipeError(error, "http") && error.status === 409);
    assert.equal(
      error.hint,
      "Pass { recursive: true } to remove a directory with all that is in it.",
    );
    await sandbox.files.remove("full", { recursive: true });
    assert.equal(await sandbox.files.exists("full"), false);
  });
});

describe("create()", () => {
  it("takes no arguments for none", async () => {
    const { id, args } = await sandbox.execs.create({ command: "true" });
    assert.deepEqual(args, []);
    assert.equal((await sandbox.execs.wait(id)).exitCode, 0);
  });

  it("takes a policy as an object", { skip: noBubblewrap }, async () => {
    // /tmp is another one for confined commands.
    const workspace = await mkdtemp(join(import.meta.dirname ?? ".", "../../target/policy-"));
    const confined = await createSandbox({ workspace, policy: "workspace" });
    try {
      /** @type {import("sandpipe/node").Policy} */
      const policy = { extends: ["workspace"], network: "none", env: { set: { FROM: "policy" } } };
      const { output } = await confined.execs.exec(
        "sh",
        ["-c", "echo $FROM; grep -c : /proc/net/dev"],
        {
          policy,
        },
      );
      assert.equal(output, "policy\n1\n");
      const wrong = /** @type {any} */ ({ extends: "workspace" });
      const error = await failure(confined.execs.create({ command: "true", policy: wrong }));
      assert.ok(isSandpipeError(error, "http") && error.status === 400);
    } finally {
      await confined.stop();
      await rm(workspace, { recursive: true });
    }
  });
});
