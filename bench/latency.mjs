// @ts-check
/**
 * `node -- latency.mjs spawn|openssh|sandpipe|POLICY warm|burst|cold|left-behind [PROGRAM ARGUMENT…]`: one measurement as one line of JSON. With
 * the name of a policy it is Sandpipe under that.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";

const [how, what, ...given] = process.argv.slice(2);
const LEFT_BEHIND = ["sh", "-c", "sleep 5 & exit 7"];
const [program = "true", ...args] = what === "left-behind" ? LEFT_BEHIND : given;

/** Runs a program as a local child and collects what it prints. */
async function local() {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (text) => (output += text));
  child.stderr.on("data", (text) => (output += text));
  // With what is left behind the pipes stay open.
  const [exitCode] = await once(child, what === "left-behind" ? "exit" : "close");
  return { exitCode, output };
}

let end = async () => {};
let run = local;
// A cold start has the agent there and everything else still to be done.
const { startAgent } = await import("sandpipe/node");
const isLocal = how === "spawn" || how === "openssh";
/** @type {import("sandpipe/node").StartAgentOptions} */
const policy = how === "sandpipe" ? {} : { policy: /** @type {any} */ (how) };
const agent = isLocal ? undefined : await startAgent(policy);
if (agent !== undefined) end = () => agent.stop();

const connect = async () => {
  if (agent === undefined) return;
  const { connect } = await import("sandpipe");
  const { execs } = await connect(agent);
  run = () => execs.exec(program, args);
};
if (what !== "cold") {
  await connect();
  if (what !== "left-behind") for (let i = 0; i < 20; i++) await run();
}

const before = process.cpuUsage();
const start = performance.now();
if (what === "cold") {
  await connect();
  await run();
} else if (what === "warm") {
  for (let i = 0; i < 200; i++) await run();
} else if (what === "left-behind") {
  for (let i = 0; i < 10; i++) await run();
} else {
  let left = 1000;
  const worker = async () => {
    while (left-- > 0) {
      const { exitCode } = await run();
      if (exitCode !== 0) throw new Error(`exit code ${exitCode}`);
    }
  };
  await Promise.all(Array.from({ length: 100 }, worker));
}
const ms = performance.now() - start;
const cpu = process.cpuUsage(before);
const rssMb = process.resourceUsage().maxRSS / 1024;
await end();
console.log(JSON.stringify({ ms, cpuMs: (cpu.user + cpu.system) / 1000, rssMb }));
