// @ts-check
/** `node -- box.mjs POLICY`: the memory of an agent that has run a command, with its box and what has built that, as one line of JSON. */

import { readdirSync, readFileSync } from "node:fs";
import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

const [name = "open"] = process.argv.slice(2);
const policy = /** @type {import("sandpipe/node").PolicyName} */ (name);
const agent = await startAgent({ policy });
const { execs } = await connect(agent);
await execs.exec("true");

/** @type {Map<string, string[]>} the children of each process */
const children = new Map();
for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
  const parent = parentOf(pid);
  if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), pid]);
}
const rssMb = descendants(String(process.pid)).reduce((sum, pid) => sum + memoryMb(pid), 0);
await agent.stop();
console.log(JSON.stringify({ rssMb }));

/** @param {string} pid */
function parentOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ")[1];
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}

/** @param {string} pid @returns {string[]} */
function descendants(pid) {
  return (children.get(pid) ?? []).flatMap((child) => [child, ...descendants(child)]);
}

/** What is resident of a process. @param {string} pid */
function memoryMb(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]) / 1024;
}
