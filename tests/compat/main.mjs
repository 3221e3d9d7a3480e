// @ts-check
/**
 * `npm run compat [-- NAME…]`: installs the packed packages into fresh applications, one a row, has each do the
 * main job, prints the results and writes docs/compatibility.md, if all of it worked. With names: only the rows whose
 * name has one of them, and nothing is written. With `--packed DIR`: the packages that `npm run pack` has put there.
 */

import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { command } from "../../scripts/command.mjs";
import { seconds } from "../../scripts/progress.mjs";
import { root } from "../../scripts/project.mjs";
import { prepareBrowsers } from "../../scripts/setup/debian-packages.mjs";
import { packAll, packed } from "./packages.mjs";
import { runRow } from "./row.mjs";
import { rows } from "./rows.mjs";
import { document, isComplete, verdict } from "./table.mjs";
import { withRowContext } from "./row-context.mjs";

/** How many rows are run at a time. */
const MAX_CONCURRENT_ROWS = 3;

/** The most lines of an error that are shown. */
const MAX_ERROR_LINES = 40;

await command(async () => {
  const { values, positionals } = parseArgs({
    options: { packed: { type: "string" } },
    allowPositionals: true,
  });
  const names = positionals.map((name) => name.toLowerCase());
  await prepareBrowsers();
  const folder = values.packed;
  const pack =
    folder === undefined ? packAll : () => packed(resolve(process.env["INIT_CWD"] ?? "", folder));
  const chosen = rows.filter(
    ({ name }) => names.length === 0 || names.some((part) => name.toLowerCase().includes(part)),
  );
  if (chosen.length === 0) {
    console.error(`There is no such row, only: ${rows.map(({ name }) => name).join(", ")}.`);
    return 2;
  }
  const left = chosen.entries();
  /** @type {import("./row.mjs").Result[][]} */
  const resultsOfRows = chosen.map(() => []);
  await withRowContext("registry", pack, async (context) => {
    const runRows = async () => {
      for (const [index, row] of left) {
        await runRow(row, context, (result) => {
          resultsOfRows[index]?.push(result);
          show(result);
        });
      }
    };
    // One that fails leaves the others what they run with.
    const runs = Array.from({ length: MAX_CONCURRENT_ROWS }, runRows);
    for (const end of await Promise.allSettled(runs)) {
      if (end.status === "rejected") throw end.reason;
    }
  });
  const results = resultsOfRows.flat();
  const failed = results.filter(({ failure }) => failure !== undefined).length;
  console.log(`${results.length - failed} passed, ${failed} failed`);
  if (isComplete(results, rows)) {
    const day = new Date().toISOString().slice(0, 10);
    await writeFile(join(root, "docs", "compatibility.md"), document(results, day));
  }
  return failed === 0 ? 0 : 1;
});

/** @param {import("./row.mjs").Result} result */
function show(result) {
  const { version, part, failure, ms } = result;
  const mark = failure === undefined ? "✔" : "✖";
  console.log(`${mark} ${version}, ${part}: ${verdict(result)} (${seconds(ms)})`);
  const lines = failure?.split("\n").slice(0, MAX_ERROR_LINES) ?? [];
  for (const line of lines) console.log(`    ${line}`);
}
