// @ts-check
// Inputs as models send them, and files as editors leave them.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { connect, isSandpipeError } from "sandpipe";
import { startAgent } from "sandpipe/node";
import { tools } from "sandpipe/tools";

import { failure } from "../support/script.mjs";

describe("the tools of a sandbox", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {import("sandpipe").Sandbox} */
  let sandbox;
  /** @type {string} */
  let directory;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "sandpipe-inputs-"));
    agent = await startAgent({ workspace: directory });
    sandbox = await connect(agent);
  });
  after(async () => {
    sandbox.close();
    await agent.stop();
    await rm(directory, { recursive: true });
  });

  it("take null for what may be left out, and for nothing else", async () => {
    await writeFile(join(directory, "f"), "one\ntwo\n");
    const read = tools(sandbox)[4];
    const whole = await read.execute({ path: "f", start_line: null, end_line: null });
    assert.match(whole, /1\tone\n *2\ttwo/);
    const wrong = await failure(read.execute({ path: null }));
    assert.ok(isSandpipeError(wrong, "invalid_argument"));
    assert.match(wrong.message, /`path` must be .*, but is null/);
    const unknown = await failure(read.execute({ path: "f", lines: null }));
    assert.match(unknown.message, /there is no `lines`/);
  });

  it("say that a file begins with a byte order mark", async () => {
    await writeFile(join(directory, "marked"), "\ufeffone\n");
    const shown = await tools(sandbox)[4].execute({ path: "marked" });
    assert.match(shown, /^begins with a byte order mark \(U\+FEFF\), which is not shown$/m);
    assert.match(shown, /\n *1\tone/);
    await writeFile(join(directory, "plain"), "one\n");
    assert.doesNotMatch(await tools(sandbox)[4].execute({ path: "plain" }), /byte order/);
  });

  it("are beside files that take the body of an empty answer", async () => {
    await sandbox.files.write("empty", new Response(null).body);
    assert.equal(await readFile(join(directory, "empty"), "utf8"), "");
    const wrong = /** @type {any} */ (undefined);
    const error = await failure(sandbox.files.write("empty", wrong));
    assert.ok(isSandpipeError(error, "invalid_argument"));
  });
});
