// @ts-check
/** The real agent: output from a process through it, and what it takes itself. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measured } from "../child.mjs";
import { openSsh } from "../openssh.mjs";
import { WORKLOADS } from "../workloads.mjs";

/** @returns {AsyncGenerator<import("../main.mjs").Row>} */
export async function* agentRows() {
  const folder = await mkdtemp(join(tmpdir(), "sandpipe-bench-"));
  const file = join(folder, "100mb");
  await writeFile(
    file,
    /** @type {() => import("../workloads.mjs").Workload} */ (WORKLOADS["mixed"])().outputs.join(
      "",
    ),
  );
  const ssh = await openSsh();
  yield {
    name: "agent",
    title: "100 MB out of `cat`, the agent's CPU and memory",
    reference: "cat to wc",
    columns: {
      "cat to wc": () => measured("agent.mjs", ["wc", file]),
      "agent, bare read": () => measured("agent.mjs", ["read", file]),
      "agent, exec": () => measured("agent.mjs", ["exec", file]),
      "OpenSSH, shared connection": () => measured("agent.mjs", ["ssh", file, ...ssh.command]),
    },
    end: ssh.stop,
  };
  yield {
    name: "idle",
    title: "the agent's memory: idle, and with 1,000 execs that wait",
    reference: "idle",
    columns: {
      idle: () => measured("agent.mjs", ["idle", "0"]),
      "1,000 execs": () => measured("agent.mjs", ["idle", "1000"]),
    },
    end: () => rm(folder, { recursive: true }),
  };
}
