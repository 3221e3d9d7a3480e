// @ts-check
/** `npm test [-- SUITE…]`: builds what is needed, runs the suites, all or those named. */

import { buildEverything } from "./build/everything.mjs";
import { command, explanation } from "./command.mjs";
import { packAll, testedTarballs } from "./pack/tarballs.mjs";
import { seconds } from "./progress.mjs";
import { requireCurrentCargoLock } from "./setup/cargo-lock.mjs";
import { prepareChromium } from "./setup/chromium.mjs";
import { prepareEmulator } from "./setup/emulator.mjs";
import { setUpMachine } from "./setup/machine.mjs";
import { prepareMuslTargets } from "./setup/musl-targets.mjs";
import { prepareTargets } from "./setup/targets.mjs";
import { cargoTests } from "./suites/cargo.mjs";
import { faultTests } from "./suites/faults.mjs";
import { lint } from "./suites/lint.mjs";
import { nodeTests } from "./suites/node.mjs";
import { wasmTests } from "./suites/wasm.mjs";

/**
 * @typedef {{ passed: number, failed: number, skipped: number }} Counts
 * @typedef {{ name: string, browser: boolean, run: () => Promise<Counts> }} Suite
 */

/** @type {Suite[]} */
const SUITES = [
  { name: "lint", browser: false, run: lint },
  { name: "cargo", browser: false, run: cargoTests },
  { name: "wasm-node", browser: false, run: () => wasmTests("node") },
  { name: "wasm-browser", browser: true, run: () => wasmTests("browser") },
  // Node.js 20 has WebSockets when asked.
  {
    name: "node",
    browser: false,
    run: () => nodeTests("node", { flags: ["--experimental-websocket"] }),
  },
  { name: "background", browser: false, run: () => nodeTests("background") },
  { name: "tools", browser: false, run: () => nodeTests("tools") },
  { name: "cli", browser: false, run: () => nodeTests("cli") },
  { name: "faults", browser: false, run: faultTests },
  // One file at a time: some rebuild what others read. Applications are built and installed, which takes minutes.
  {
    name: "packaging",
    browser: true,
    run: () => nodeTests("packaging", { timeoutMs: 600_000, flags: ["--test-concurrency=1"] }),
  },
  { name: "browser", browser: true, run: () => nodeTests("browser") },
  { name: "edge", browser: false, run: () => nodeTests("edge") },
];

await command(async () => {
  const names = process.argv.slice(2);
  const unknown = names.find((name) => SUITES.every((suite) => suite.name !== name));
  if (unknown !== undefined) {
    const known = SUITES.map((suite) => suite.name).join(", ");
    console.error(`There is no suite "${unknown}", only: ${known}.`);
    return 2;
  }
  leaveOutOwnSettings();
  const suites = SUITES.filter(({ name }) => names.length === 0 || names.includes(name));
  const results = [await timed("build", () => prepare(suites))];
  if (results[0]?.failed === 0) {
    for (const suite of suites) {
      console.log(`\n━━ ${suite.name}`);
      results.push(await timed(suite.name, suite.run));
    }
  }
  return report(results);
});

/** What a developer has set for Sandpipe, such as another agent, is not what is tested. */
function leaveOutOwnSettings() {
  for (const name of Object.keys(process.env)) {
    if (name.startsWith("SANDPIPE_")) delete process.env[name];
  }
}

/** @param {readonly Suite[]} suites */
async function prepare(suites) {
  await setUpMachine();
  if (suites.some((suite) => suite.browser)) await prepareChromium();
  if (suites.some(({ name }) => ["node", "background", "tools", "cli"].includes(name)))
    await prepareTargets();
  await requireCurrentCargoLock();
  await buildEverything();
  if (suites.some(({ name }) => name === "packaging")) {
    await prepareMuslTargets();
    await prepareEmulator();
    await packAll(testedTarballs);
  }
  return { passed: 0, failed: 0, skipped: 0 };
}

/**
 * What can't run has failed.
 *
 * @param {string} name
 * @param {() => Promise<Counts>} work
 */
async function timed(name, work) {
  const start = performance.now();
  const counts = await work().catch((error) => {
    console.error(explanation(error));
    return { passed: 0, failed: 1, skipped: 0 };
  });
  if (name !== "build" && counts.passed + counts.failed === 0) {
    console.error(`The suite ${name} ran no test.`);
    counts.failed = 1;
  }
  return { name, ...counts, time: performance.now() - start };
}

/** @param {readonly (Counts & { name: string, time: number })[]} results */
function report(results) {
  console.log("\nsuite          passed  failed  skipped      time");
  for (const { name, passed, failed, skipped, time } of results) {
    const numbers = [passed, failed, skipped].map((n) => String(n).padStart(8)).join("");
    console.log(`${name.padEnd(13)}${numbers} ${seconds(time).padStart(9)}`);
  }
  const passed = results.reduce((sum, result) => sum + result.passed, 0);
  const failed = results.reduce((sum, result) => sum + result.failed, 0);
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}
