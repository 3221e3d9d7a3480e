// @ts-check
/** The agent by itself: output from a process through it, and what it takes. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measured } from "../child.mjs";

/** @type {import("../main.mjs").Row[]} */
export const agentRows = [
  {
    name: "agent",
    title: "100 MB out of `cat`, the agent's CPU and memory",
    reference: "cat to wc",
    async open() {
      const folder = await mkdtemp(join(tmpdir(), "sandpipe-bench-"));
      const file = join(folder, "100mb");
      await measured("write.mjs", ["mixed", file]);
      const columns = {
        "cat to wc": () => measured("agent.mjs", ["wc", file]),
        // Both read frames: by fetch, and into the same memory over and over.
        bare: () => measured("agent.mjs", ["bare", file]),
        "bare-net": () => measured("agent.mjs", ["bare-net", file]),
      };
      return { columns, end: () => rm(folder, { recursive: true }) };
    },
  },
  {
    name: "idle",
    title: "the agent's memory: idle, and with 1,000 execs that wait",
    reference: "idle",
    async open() {
      const columns = {
        idle: () => measured("agent.mjs", ["idle", "0"]),
        "1,000 execs": () => measured("agent.mjs", ["idle", "1000"]),
      };
      return { columns };
    },
  },
];
