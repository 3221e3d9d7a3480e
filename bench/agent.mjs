// @ts-check
/**
 * `node -- agent.mjs wc|bare|bare-net FILE` or `idle COUNT`: one measurement as one line of JSON. What reads is a
 * client of that name.
 */

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

const [what, argument] = /** @type {[string, string]} */ (process.argv.slice(2));
const agent = await startAgent();
const { execs } = await connect(agent);
await execs.exec("true");
const pid = agentPid();

const client = ["wc", "idle"].includes(what) ? undefined : await import(`./clients/${what}.mjs`);
/** @param {string[]} command */
const read = async (...command) => {
  const { url, token } = agent;
  await (await client.connect({ url, token, command })).exec();
};
// A process's first request takes its time.
if (client !== undefined) await read("true");

const before = cpuMs();
const start = performance.now();
if (what === "wc") {
  execFileSync("sh", ["-c", 'cat "$0" | wc -c', argument]);
} else if (what === "idle") {
  for (let i = 0; i < Number(argument); i++) await execs.create({ command: "cat", args: [] });
} else {
  await read("cat", argument);
}
const ms = performance.now() - start;
const result = {
  ...(what !== "idle" && { ms }),
  ...(client !== undefined && { cpuMs: cpuMs() - before }),
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
