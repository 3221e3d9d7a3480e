// @ts-check
/**
 * `npm run bench [-- ROW…]`: measures, prints the table and keeps it in bench/RESULTS.md.
 *
 * Every figure is to be read as a ratio to the reference of its own row, measured in turn with it in
 * the same run: machines differ, and so does one machine from one minute to the next.
 */

import { writeFile } from "node:fs/promises";
import { command } from "../scripts/command.mjs";
import { releaseAgent } from "../scripts/project.mjs";
import { prepareTargets } from "../scripts/setup/debian-packages.mjs";
import { goalsTable } from "./goals.mjs";
import { agentRows } from "./rows/agent.mjs";
import { boxRows } from "./rows/box.mjs";
import { browserRows } from "./rows/browser.mjs";
import { bytesRows, endToEndRows, framesRows, preparedRows } from "./rows/clients.mjs";
import { filesRows } from "./rows/files.mjs";
import { latencyRows } from "./rows/latency.mjs";
import { lineRows } from "./rows/line.mjs";
import { retainedRows } from "./rows/retained.mjs";
import { sizeRows } from "./rows/size.mjs";
import { machine, markdown } from "./table.mjs";

/**
 * @typedef {{ ms?: number, cpuMs?: number, rssMb?: number }} Sample
 * @typedef {object} Row
 * @property {string} name what it is called on the command line
 * @property {string} title
 * @property {string} reference the column that the others are told as multiples of
 * @property {() => Promise<Measurable>} open
 *
 * @typedef {object} Measurable
 * @property {Record<string, () => Promise<Sample>>} columns
 * @property {() => Promise<void>} [end]
 */

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);

// As it is published: the checkout's own agent is not compiled for speed.
process.env["SANDPIPE_AGENT"] = releaseAgent;

await command(async () => {
  await prepareTargets();
  const asked = process.argv.slice(2);
  const results = [];
  for (const row of [
    ...preparedRows,
    ...framesRows,
    ...endToEndRows,
    ...bytesRows,
    ...latencyRows,
    ...lineRows,
    ...agentRows,
    ...boxRows,
    ...retainedRows,
    ...filesRows,
    ...browserRows,
  ]) {
    if (asked.length > 0 && !asked.some((name) => row.name.startsWith(name))) continue;
    results.push({ row, samples: await measure(row) });
    console.log(markdown(results.slice(-1)));
  }
  const goals = goalsTable(results);
  const text = `${await machine(ROUNDS)}\n${markdown(results)}\n${goals}\n${await sizeRows()}`;
  console.log(text);
  // A part of it is not the whole.
  if (asked.length === 0) await writeFile(new URL("RESULTS.md", import.meta.url), text);
  return 0;
});

/**
 * Measures the columns in turn, so that what the machine does meanwhile befalls all of them.
 *
 * @param {Row} row
 */
async function measure(row) {
  const { columns, end } = await row.open();
  /** @type {Record<string, Sample[]>} */
  const samples = {};
  try {
    for (let round = 0; round < ROUNDS; round++) {
      for (const [column, sample] of Object.entries(columns)) {
        (samples[column] ??= []).push(await sample());
      }
    }
  } finally {
    await end?.();
  }
  return samples;
}
