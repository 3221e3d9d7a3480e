// @ts-check
/** `npm run size`: what takes the space in the core's module. */

import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { mustRun } from "./child-process.mjs";
import { command } from "./command.mjs";
import { root, target } from "./project.mjs";

await command(async () => {
  // As the build leaves it, but with the names of functions.
  const folder = join(target, "size");
  const compiled = join(target, "wasm32-unknown-unknown", "wasm", "sandpipe.wasm");
  mkdirSync(folder, { recursive: true });
  await mustRun(join(target, "checkout", "core-bindings"), [compiled, folder]);
  const metrics = execFileSync(
    join(root, "node_modules", ".bin", "wasm-opt"),
    [
      ...["-O3", "--all-features", "--debuginfo", "--func-metrics"],
      ...[join(folder, "sandpipe_bg.wasm"), "--output", "/dev/null"],
    ],
    { encoding: "utf8", maxBuffer: 1 << 26 },
  );
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
