// @ts-check
/**
 * One measurement in a process of its own: `node -- measure.mjs CLIENT exec|stream TARGET`, the target
 * as JSON. Prints the time and what came as one line of JSON.
 */

import { createHash } from "node:crypto";

const [client, call, target] = /** @type {[string, "exec" | "stream", string]} */ (
  process.argv.slice(2)
);
const { connect } = await import(`./clients/${client}.mjs`);
const connected = await connect(JSON.parse(target));

const cpuBefore = process.cpuUsage();
const start = performance.now();
const result = await connected[call]();
// A string that is made of pieces is put together when it is first looked at.
if (typeof result === "string") result.charCodeAt(result.length >> 1);
const ms = performance.now() - start;
const cpu = process.cpuUsage(cpuBefore);

const rssMb = process.resourceUsage().maxRSS / 1024;
const length = typeof result === "number" ? result : undefined;
const hash = length === undefined ? createHash("sha256").update(result).digest("hex") : undefined;
console.log(JSON.stringify({ ms, cpuMs: (cpu.user + cpu.system) / 1000, rssMb, hash, length }));
process.exit(0);
