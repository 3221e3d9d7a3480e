// @ts-check
/**
 * `npm run vm`: boots a virtual machine with cgroups of version 2, has commands try to exceed the limits of their policy in
 * it, prints what came of that, and writes bench/VM.md, if all of it was as it is to be.
 */

import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { command } from "../../scripts/command.mjs";
import { seconds } from "../../scripts/progress.mjs";
import { root } from "../../scripts/project.mjs";
import { boot, findPrograms, prepareKernel } from "./machine.mjs";
import { missing, parseResult, table, verdict } from "./table.mjs";

await command(async () => {
  const programs = findPrograms();
  const kernel = await prepareKernel();
  const start = performance.now();
  /** @type {import("./table.mjs").Result[]} */
  const results = [];
  await boot(kernel, programs, (line) => {
    const result = parseResult(line);
    if (result === undefined) {
      if (!line.includes("RESULT|end")) console.log(`    ${line}`);
      return;
    }
    results.push(result);
    const found = verdict(result);
    const mark = found === undefined ? "✖" : "✔";
    console.log(`${mark} ${result.setting}, ${result.attempt}: ${found ?? result.code}`);
    if (found === undefined) console.log(`    ${result.output}`);
  });
  const failed = results.filter((result) => verdict(result) === undefined).length;
  const absent = missing(results);
  for (const what of absent) console.log(`✖ ${what}: the machine has not come to it`);
  const text = table(results);
  console.log(`\n${text}\n`);
  console.log(`${results.length - failed} as they are to be, ${failed + absent.length} not`);
  if (failed + absent.length > 0) return 1;
  const day = new Date().toISOString().slice(0, 10);
  const took = seconds(performance.now() - start);
  const name = basename(kernel).replace("vmlinuz-", "Linux ");
  await writeFile(
    join(root, "bench", "VM.md"),
    report(text, day, `${name}, ${programs.qemu}, ${took}`),
  );
  return 0;
});

/**
 * @param {string} rows
 * @param {string} day
 * @param {string} machine
 */
function report(rows, day, machine) {
  return `# Limits in a virtual machine

\`npm run vm\`, ${day}. ${machine}.
All commands together may have 64 MiB, a quarter of a processor and 24 processes. Those of the narrower policy within may have
32 MiB and 12 processes of these. The attempts are in \`tests/vm/init.sh\`.

${rows}
`;
}
