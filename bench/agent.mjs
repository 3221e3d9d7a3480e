// @ts-check
/**
 * `node agent.mjs wc|read|exec FILE`, `ssh FILE PROGRAM ARGUMENT…` or `idle COUNT`: one measurement as one
 * line of JSON.
 */

import { execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

const [what, argument, program, ...args] = /** @type {[string, string, string, ...string[]]} */ (
  process.argv.slice(2)
);
const agent = await startAgent();
const { execs } = await connect(agent);
await execs.exec("true");
const pid = agentPid();

const before = cpuMs();
const start = performance.now();
if (what === "wc") {
  execFileSync("sh", ["-c", 'cat "$0" | wc -c', argument]);
} else if (what === "ssh") {
  const child = spawn(program, [...args, `cat ${argument}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  child.stdout.setEncoding("utf8");
  const output = (await child.stdout.toArray()).join("");
  output.charCodeAt(output.length >> 1);
} else if (what === "exec") {
  const { output } = await execs.exec("cat", [argument]);
  output.charCodeAt(output.length >> 1);
} else if (what === "read") {
  const { id } = await execs.create({ command: "cat", args: [argument] });
  const headers = { authorization: `Bearer ${agent.token}` };
  const response = await fetch(`${agent.url}/api/v1/stream/execs/${id}/io`, { headers });
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  while (!(await reader.read()).done);
} else {
  for (let i = 0; i < Number(argument); i++) await execs.create({ command: "cat", args: [] });
}
const ms = performance.now() - start;
const result = {
  ...(what !== "idle" && { ms }),
  ...(["read", "exec"].includes(what) && { cpuMs: cpuMs() - before }),
  ...(["read", "exec", "idle"].includes(what) && { rssMb: memoryMb() }),
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
