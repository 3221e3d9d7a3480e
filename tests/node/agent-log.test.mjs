// @ts-check
// The log of an agent that a program starts.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { it } from "node:test";
import { promisify } from "node:util";

import { InvalidArgumentError } from "sandpipe";
import { createSandbox, startAgent } from "sandpipe/node";

import { noBubblewrap } from "../support/bubblewrap.mjs";

/** Has the policy refuse a connection: the agent logs that. */
const REFUSED = `const [, host, port] = /\\/\\/(.*):(\\d+)/.exec(process.env.HTTP_PROXY);
  require("node:http").get({ host, port, path: "http://a.example/" }, (answer) => answer.resume());`;

const LINE =
  "sandpipe-agent: a connection was refused by the policy: no rule of the policy's network.allow names a.example:80";

/** @type {import("sandpipe/node").Policy} */
const POLICY = { extends: ["workspace"], network: { allow: ["b.example"] } };

it("goes line by line to `onLog`", { skip: noBubblewrap }, async () => {
  /** @type {string[]} */
  const lines = [];
  const sandbox = await createSandbox({ policy: POLICY, onLog: (line) => lines.push(line) });
  const { output, exitCode } = await sandbox.execs.exec(process.execPath, ["-e", REFUSED]);
  await sandbox.stop();
  assert.deepEqual([output, exitCode], ["", 0]);
  assert.deepEqual(lines, [LINE]);
});

it("is warnings of the process by default", { skip: noBubblewrap }, async () => {
  const program = `import { createSandbox } from "sandpipe/node";
    const [policy, refused] = process.argv.slice(1);
    const sandbox = await createSandbox({ policy: JSON.parse(policy) });
    process.on("warning", ({ name, message }) => console.log(name, message));
    await sandbox.execs.exec(process.execPath, ["-e", refused]);
    await sandbox.stop();`;
  const args = ["--no-warnings", "--input-type=module", "--eval", program];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    ...args,
    ...["--", JSON.stringify(POLICY), REFUSED],
  ]);
  assert.deepEqual([stdout, stderr], [`SandpipeWarning ${LINE}\n`, ""]);
});

it("is not taken by what is no function", async () => {
  await assert.rejects(
    // @ts-expect-error It is no function.
    startAgent({ onLog: "console" }),
    (error) => error instanceof InvalidArgumentError && /`options\.onLog`/.test(error.message),
  );
});
