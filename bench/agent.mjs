// @ts-check
/**
 * `node agent.mjs wc|read FILE` or `idle COUNT`: one measurement as one line of JSON.
 */

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";
import { connect as connectBare } from "./clients/bare.mjs";

const [what, argument] = /** @type {[string, string]} */ (process.argv.slice(2));
const agent = await startAgent();
const { execs } = await connect(agent);
await execs.exec("true");
const pid = agentPid();

const before = cpuMs();
const start = performance.now();
if (what === "wc") {
  execFileSync("sh", ["-c", 'cat "$0" | wc -c', argument]);
} else if (what === "read") {
  const { url, token } = agent;
  const { exec } = await connectBare({ url, token, command: ["cat", argument] });
  await exec();
} else {
  for (let i = 0; i < Number(argument); i++) await execs.create({ command: "cat", args: [] });
}
const ms = performance.now() - start;
const result = {
  ...(what !== "idle" && { ms }),
  ...(what === "read" && { cpuMs: cpuMs() - before }),
  ...(what !== "wc" && { rssMb: memoryMb() }),
};
await agent.stop();
console.log(JSON.stringify(result));

function agentPid() {
  const child = readdirSync("/proc").find((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1").split(") ").at(-1)?.split(" ");
      return stat?.[1] === String(process.pid);
    } catch {
      return false;
    }
  });
  if (child === undefined) throw new Error("the agent is no child of this process");
  return child;
}

/** The CPU time of the agent's process, its children's not. */
function cpuMs() {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ") ?? [];
  // In ticks of 10 ms: user, system.
  return (Number(stat[11]) + Number(stat[12])) * 10;
}

/** The most memory that was resident. */
function memoryMb() {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]) / 1024;
}
