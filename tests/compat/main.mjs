// @ts-check
/**
 * `npm run compat [-- NAME…]`: installs the packed packages into fresh applications, one a row, has each do the
 * main job, prints the table and writes docs/compatibility.md. With names: the rows whose name has one of them,
 * and nothing is written.
 */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { command } from "../../scripts/command.mjs";
import { seconds } from "../../scripts/progress.mjs";
import { root } from "../../scripts/project.mjs";
import { runRow } from "./row.mjs";
import { rows } from "./rows.mjs";
import { document, verdict } from "./table.mjs";
import { withSurroundings } from "./surroundings.mjs";

await command(async () => {
  const names = process.argv.slice(2).map((name) => name.toLowerCase());
  const chosen = rows.filter(
    ({ name }) => names.length === 0 || names.some((part) => name.toLowerCase().includes(part)),
  );
  if (chosen.length === 0) {
    console.error(`There is no such row, only: ${rows.map(({ name }) => name).join(", ")}.`);
    return 2;
  }
  /** @type {import("./row.mjs").Result[]} */
  const results = [];
  await withSurroundings("registry", async (surroundings) => {
    for (const row of chosen) {
      await runRow(row, surroundings, (result) => {
        results.push(result);
        const { row, part, failure, ms } = result;
        console.log(
          `${failure === undefined ? "✔" : "✖"} ${row}, ${part}: ${verdict(result)} (${seconds(ms)})`,
        );
        if (failure !== undefined) console.log(failure.replaceAll(/^/gm, "    "));
      });
    }
  });
  const failed = results.filter(({ failure }) => failure !== undefined).length;
  console.log(`${results.length - failed} passed, ${failed} failed`);
  // A part of it is not the whole.
  if (names.length === 0) {
    const day = new Date().toISOString().slice(0, 10);
    await writeFile(join(root, "docs", "compatibility.md"), document(results, day));
  }
  return failed === 0 ? 0 : 1;
});
