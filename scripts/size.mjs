// @ts-check
/** `npm run size`: what takes the space in the core's module. */

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { bind, buildCore, optimiser } from "./build/core.mjs";
import { buildWasmTools } from "./build/wasm-tools.mjs";
import { command } from "./command.mjs";
import { target } from "./project.mjs";
import { setUpMachine } from "./setup/machine.mjs";

await command(async () => {
  await setUpMachine();
  await buildWasmTools();
  await buildCore();
  const module = await bind(join(target, "size"));
  const args = optimiser(module, ["--debuginfo", "--func-metrics", "--output", "/dev/null"]);
  const metrics = execFileSync(process.execPath, args, { encoding: "utf8", maxBuffer: 1 << 26 });
  const functions = [...metrics.matchAll(/^func: (.*)\n \[binary-bytes\] : (\d+)/gm)].map(
    ([, name = "", bytes]) => ({ name, bytes: Number(bytes) }),
  );
  const data = Number(/\[memory-data\]\s*: (\d+)/.exec(metrics)?.[1]);
  const code = functions.reduce((sum, { bytes }) => sum + bytes, 0);
  console.log(`${code} bytes of code in ${functions.length} functions, ${data} of data.\n`);
  print("By module", groups(functions));
  print("The largest functions", functions);
  return 0;
});

/**
 * @typedef {{ name: string, bytes: number }} Part
 */

/**
 * The functions of a module together; of other crates, those of the crate.
 *
 * @param {Part[]} functions
 * @returns {Part[]}
 */
function groups(functions) {
  /** @type {Record<string, number>} */
  const sums = {};
  for (const { name, bytes } of functions) {
    // An implementation of a trait belongs to the type that it is for.
    const plain = name.replaceAll(/\[[0-9a-f]{16}\]/g, "").replaceAll(/[<&]|^mut /g, "");
    const module = /^sandpipe\w*(::[a-z_]+)*/.exec(plain)?.[0] ?? /^\w+/.exec(plain)?.[0] ?? plain;
    const group = module.split("::").slice(0, 3).join("::");
    sums[group] = (sums[group] ?? 0) + bytes;
  }
  return Object.entries(sums).map(([name, bytes]) => ({ name, bytes }));
}

/**
 * @param {string} title
 * @param {Part[]} parts
 */
function print(title, parts) {
  const largest = [...parts].sort((a, b) => b.bytes - a.bytes).slice(0, 30);
  console.log(`${title}:`);
  for (const { name, bytes } of largest) {
    console.log(`${String(bytes).padStart(8)}  ${name.slice(0, 110)}`);
  }
  console.log();
}
