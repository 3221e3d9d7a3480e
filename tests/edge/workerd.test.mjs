// @ts-check
import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { startTestAgent } from "../support/agent.mjs";
import { installInProject } from "../support/installed-package.mjs";
import { bundleWorker, startWorkerd } from "./workerd.mjs";

test("runs a command and a tool from an edge worker", async (t) => {
  const project = await installInProject(new URL("./", import.meta.url));
  t.after(() => project.remove());
  const bundle = await bundleWorker(project.path, "worker.mjs");
  await cp(join(project.path, "workerd.capnp"), join(bundle, "workerd.capnp"));
  const agent = await startTestAgent();
  t.after(() => agent.stop());
  const worker = await startWorkerd(join(bundle, "workerd.capnp"));
  t.after(() => worker.stop());

  const script = "echo hello; echo oops >&2; exit 3";
  for (const [request, expected] of /** @type {const} */ ([
    [
      { command: "sh", args: ["-c", script] },
      { exitCode: 3, output: "hello\noops\n", stdout: "hello\n", stderr: "oops\n" },
    ],
    [{ script }, "exit code: 3\n\nhello\noops\n"],
  ])) {
    const answer = await fetch(worker.url, {
      method: "POST",
      body: JSON.stringify({ url: agent.url, token: agent.token, ...request }),
    });
    assert.equal(answer.status, 200, await answer.clone().text());
    assert.deepEqual(await answer.json(), expected);
  }
});
