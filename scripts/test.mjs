// @ts-check
/** `npm test [-- SUITE…]`: builds what is needed, runs the suites, all or those named. */

import { mkdirSync } from "node:fs";
import { mustRun } from "./child-process.mjs";
import { command, explanation } from "./command.mjs";
import { seconds } from "./progress.mjs";
import { testedTarballs } from "./project.mjs";
import {
  prepareBubblewrap,
  prepareChromium,
  prepareConsoleBrowsers,
  prepareEmulator,
  prepareImages,
  prepareTargets,
} from "./setup/debian-packages.mjs";
import { prepareGeckodriver } from "./setup/geckodriver.mjs";
import { cargoTests } from "./suites/cargo.mjs";
import { lint } from "./suites/lint.mjs";
import { nodeTests } from "./suites/node.mjs";
import { wasmTests } from "./suites/wasm.mjs";

/**
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {string[]} [failures] what is said of each test that failed, its name first
 *
 * @typedef {object} Suite
 * @property {string} name
 * @property {boolean} [onlyNamed] it is run when it is named, not with all
 * @property {(() => Promise<void>)[]} needs
 * @property {() => Promise<Counts>} run
 */

/** @type {Suite[]} */
const SUITES = [
  { name: "lint", needs: [], run: lint },
  { name: "cargo", needs: [prepareBubblewrap], run: cargoTests },
  { name: "wasm-node", needs: [], run: () => wasmTests("node") },
  { name: "wasm-chrome", needs: [prepareChromium], run: () => wasmTests("chrome") },
  {
    name: "wasm-firefox",
    onlyNamed: true,
    needs: [prepareGeckodriver],
    run: () => wasmTests("firefox"),
  },
  { name: "node", needs: [prepareTargets, prepareBubblewrap], run: () => nodeTests("node") },
  { name: "background", needs: [prepareTargets], run: () => nodeTests("background") },
  { name: "tools", needs: [prepareTargets], run: () => nodeTests("tools") },
  { name: "cli", needs: [prepareTargets, prepareBubblewrap], run: () => nodeTests("cli") },
  { name: "images", needs: [prepareImages], run: () => nodeTests("images") },
  { name: "faults", needs: [], run: () => nodeTests("faults") },
  {
    name: "packaging",
    needs: [prepareChromium, prepareEmulator, packPackages],
    // Some rebuild what others read. Applications are built and installed, which takes minutes.
    run: () => nodeTests("packaging", { concurrency: 1, timeoutMs: 600_000 }),
  },
  {
    name: "browser",
    needs: [prepareConsoleBrowsers],
    // The checks of accessibility go through every view eight times.
    run: () => nodeTests("browser", { timeoutMs: 600_000 }),
  },
  { name: "edge", needs: [], run: () => nodeTests("edge") },
];

/** How many lines of what a failed test said are shown again at the end. */
const MAX_LINES = 40;

await command(async () => {
  const names = process.argv.slice(2);
  const unknown = names.find((name) => SUITES.every((suite) => suite.name !== name));
  if (unknown !== undefined) {
    const known = SUITES.map((suite) => suite.name).join(", ");
    console.error(`There is no suite "${unknown}", only: ${known}.`);
    return 2;
  }
  leaveOutOwnSettings();
  const suites = SUITES.filter(({ name, onlyNamed = false }) =>
    names.length === 0 ? !onlyNamed : names.includes(name),
  );
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
  await mustRun("npm", ["run", "--silent", "build"]);
  for (const need of new Set(suites.flatMap(({ needs }) => needs))) await need();
  return { passed: 0, failed: 0, skipped: 0 };
}

async function packPackages() {
  mkdirSync(testedTarballs, { recursive: true });
  await mustRun("npm", ["run", "--silent", "pack", "--", testedTarballs]);
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

/**
 * What failed is told once more at the end, where whoever has only the last part of the output finds it.
 *
 * @param {readonly (Counts & { name: string, time: number })[]} results
 */
function report(results) {
  for (const { name, failures = [] } of results) {
    for (const failure of failures) {
      console.log(`\n━━ failed: ${name}: ${failure.split("\n").slice(0, MAX_LINES).join("\n")}`);
    }
  }
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
