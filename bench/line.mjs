// @ts-check
/**
 * `node -- line.mjs pipe|sandpipe|openssh INTERVAL COUNT [SSH ARGUMENT…]`: how long a line takes from the process that
 * prints it to who reads it, the median, as one line of JSON.
 */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";
import { median } from "./table.mjs";

const [how, interval = "", count = "", program = "", ...args] = process.argv.slice(2);
const ticks = [fileURLToPath(new URL("ticks.mjs", import.meta.url)), interval, count];

/** In milliseconds. @type {number[]} */
const latencies = [];
let unfinished = "";
/** @param {string} text */
function take(text) {
  const now = process.hrtime.bigint();
  const lines = (unfinished + text).split("\n");
  unfinished = lines.pop() ?? "";
  for (const line of lines) latencies.push(Number(now - BigInt(line)) / 1e6);
}

const before = process.cpuUsage();
if (how === "sandpipe") {
  const agent = await startAgent();
  const { execs } = await connect(agent);
  await execs.exec(process.execPath, ticks, { onOutput: ({ output }) => take(output) });
  await agent.stop();
} else {
  const command = how === "pipe" ? [process.execPath, ...ticks] : [program, ...args];
  if (how === "openssh") command.push([process.execPath, ...ticks].join(" "));
  const [name = "", ...rest] = command;
  const child = spawn(name, rest, { stdio: ["ignore", "pipe", "inherit"] });
  for await (const text of child.stdout.setEncoding("utf8")) take(text);
}
const cpu = process.cpuUsage(before);
if (latencies.length !== Number(count)) throw new Error(`${latencies.length} lines came`);
const rssMb = process.resourceUsage().maxRSS / 1024;
console.log(
  JSON.stringify({ ms: median(latencies), cpuMs: (cpu.user + cpu.system) / 1000, rssMb }),
);
