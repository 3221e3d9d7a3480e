// @ts-check
/** `node -- repositories.mjs POLICY COUNT`: the start of an agent with so many repositories in its workspace, with its first command, as one line of JSON. */

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

const [name = "open", count = "0"] = process.argv.slice(2);
const workspace = mkdtempSync(join(tmpdir(), "sandpipe-repositories-"));
for (let i = 0; i < Number(count); i++) {
  mkdirSync(join(workspace, `r${i}`, ".git", "objects"), { recursive: true });
}
const policy = /** @type {import("sandpipe/node").PolicyName} */ (name);
const start = performance.now();
const agent = await startAgent({ policy, workspace });
const { execs } = await connect(agent);
await execs.exec("true");
const ms = performance.now() - start;
await agent.stop();
rmSync(workspace, { recursive: true });
console.log(JSON.stringify({ ms }));
