// @ts-check
/**
 * `main.mjs [--minutes N] [SCENARIO…]`: promises kept under pressure, for so many minutes in all. Prints a
 * row for each kind of run, and keeps the rows of all scenarios in bench/SOAK.md.
 */

import { writeFile } from "node:fs/promises";
import { cpus, release } from "node:os";
import { parseArgs } from "node:util";
import { descriptors } from "./descriptors.mjs";
import { disk } from "./disk.mjs";
import { memory } from "./memory.mjs";
import { processes } from "./processes.mjs";
import { releaseAgent } from "../../../scripts/project.mjs";
import { randomFaults } from "./random-faults.mjs";
import { seeds } from "./seeds.mjs";
import { silent } from "./silent.mjs";
import { slowClients } from "./slow-clients.mjs";
import { stops } from "./stops.mjs";

/** @type {readonly import("./row.mjs").Scenario[]} */
const SCENARIOS = [
  ...[randomFaults, stops, silent, processes, descriptors, memory, disk, slowClients, seeds],
];

const MINUTES = 30;

// As it is published.
process.env["SANDPIPE_AGENT"] = releaseAgent;

const { values, positionals } = parseArgs({
  options: { minutes: { type: "string", default: String(MINUTES) } },
  allowPositionals: true,
});
const unknown = positionals.find((name) => SCENARIOS.every((scenario) => scenario.name !== name));
const minutes = Number(values.minutes);
if (unknown !== undefined) {
  const known = SCENARIOS.map(({ name }) => name).join(", ");
  console.error(`There is no scenario "${unknown}", only: ${known}.`);
  process.exitCode = 2;
} else if (!(minutes > 0)) {
  console.error(`--minutes ${values.minutes}: it must be a number above 0.`);
  process.exitCode = 2;
} else {
  process.exitCode = await soak(positionals, minutes);
}

/**
 * @param {readonly string[]} names none: all
 * @param {number} minutes
 */
async function soak(names, minutes) {
  const chosen = SCENARIOS.filter(({ name }) => names.length === 0 || names.includes(name));
  /** @type {import("./row.mjs").Row[]} */
  const rows = [];
  for (const { name, run } of chosen) {
    console.log(`━━ ${name}`);
    const deadline = performance.now() + (minutes * 60_000) / chosen.length;
    const done = await run(deadline);
    rows.push(...done);
    console.log(table(done));
  }
  const text = table(rows);
  console.log(`\n${text}`);
  if (names.length === 0) {
    await writeFile(new URL("../../../bench/SOAK.md", import.meta.url), report(text, minutes));
  }
  return rows.some((row) => row.brokenPromises > 0) ? 1 : 0;
}

/** @param {readonly import("./row.mjs").Row[]} rows */
function table(rows) {
  const lines = rows.map((row) =>
    row.skipped === undefined
      ? `| ${row.name} | ${row.runs} | ${row.struck} | ${row.survived} | ${row.brokenPromises} |`
      : `| ${row.name} | skipped: ${row.skipped} | | | |`,
  );
  const broken = rows.flatMap((row) =>
    [...row.broken].map(([what, count]) => `- ${row.name}: ${count} × ${what}`),
  );
  const head = [
    "| scenario | runs | faults struck | survived | broken promises |",
    "|---|---|---|---|---|",
  ];
  return [...head, ...lines, ...(broken.length > 0 ? ["", ...broken] : [])].join("\n");
}

/**
 * @param {string} rows
 * @param {number} minutes
 */
function report(rows, minutes) {
  const date = new Date().toISOString().slice(0, 10);
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, Linux ${release()}`;
  return `# Soak

\`npm run soak\`, ${date}, ${minutes} minutes. ${machine}, Node ${process.version}.
A fault has struck where it took place, and is survived where all promises of its run were kept. The
scenarios are in \`tests/faults/soak/\`.

${rows}
`;
}
