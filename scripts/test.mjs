// @ts-check
/** `npm test`: builds what is needed, and runs the suites; suites/selection.mjs has its options. */

import { mustRun } from "./child-process.mjs";
import { command } from "./command.mjs";
import { step } from "./progress.mjs";
import { prepareBubblewrap } from "./setup/debian-packages.mjs";
import { useLocale } from "./setup/locale.mjs";
import { budgetCheck, isMachineBusy, suspects } from "./suites/budgets.mjs";
import { startLoad } from "./suites/load.mjs";
import { prepareNeeds } from "./suites/needs.mjs";
import { endWithPrograms } from "./suites/program.mjs";
import { reportOf, tallyOf } from "./suites/report.mjs";
import { runAll } from "./suites/run.mjs";
import { selectionOf, USAGE, WrongArguments } from "./suites/selection.mjs";
import { SUITES } from "./suites/suites.mjs";

/** @import { Done } from "./suites/job.mjs" */
/** @import { Selection } from "./suites/selection.mjs" */
/** @import { Suite } from "./suites/suites.mjs" */

const isCI = process.env["CI"] === "true";

await command(async () => {
  try {
    return await test(selectionOf(process.argv.slice(2), SUITES, { isCI }));
  } catch (error) {
    if (!(error instanceof WrongArguments)) throw error;
    console.error(`${error.message}\n\n${USAGE}`);
    return 2;
  }
});

/** @param {Selection} selection */
async function test({ chosen, isAll, isWhole, repeat, isUnderLoad, locale }) {
  const start = performance.now();
  leaveOutOwnSettings();
  if (locale !== undefined) await useLocale(locale);
  // Where it can't be had, the tests that need it are skipped one by one.
  await prepareBubblewrap();
  const suites = chosen.map(({ suite, texts }) => ({ ...suite, texts }));
  const { ready, left } = await prepareNeeds(suites, { isComplete: isCI && isRoot() });
  await build(ready);

  endWithPrograms();
  const stopLoad = isUnderLoad ? startLoad() : () => {};
  try {
    /** @type {Done[][]} */
    const rounds = [];
    let unchanged;
    do {
      if (repeat > 1) console.log(`\n━━ round ${rounds.length + 1} of ${repeat}`);
      const jobs = ready.flatMap(({ jobs, texts }) => jobs(texts));
      const isChosen = suites.some(({ texts }) => texts.length > 0);
      const isRemembered = !isChosen && !isUnderLoad && repeat === 1;
      const round = await runAll(jobs, { isAll, isRemembered, say: console.log });
      unchanged = round.unchanged;
      rounds.push(round.done);
    } while (rounds.length < repeat);
    // The machines of continuous integration are shared: times there say nothing.
    const isTimed = isWhole && repeat === 1 && !isUnderLoad && !isCI;
    if (isTimed) rounds.push(await checkBudgets(rounds.flat()));
    const ms = performance.now() - start;
    const { text, isGreen } = reportOf({ done: rounds.flat(), unchanged, left, ms });
    if (repeat > 1) console.log(`\n${tallyOf(rounds)}`);
    console.log(text);
    return isGreen ? 0 : 1;
  } finally {
    stopLoad();
  }
}

function isRoot() {
  return process.getuid?.() === 0;
}

/** What a developer has set for Sandpipe, such as another agent, is not what is tested. */
function leaveOutOwnSettings() {
  for (const name of Object.keys(process.env)) {
    if (name.startsWith("SANDPIPE_") && name !== "SANDPIPE_MATRIX") delete process.env[name];
  }
}

/** @param {readonly Suite[]} suites */
async function build(suites) {
  const steps = new Set(suites.flatMap(({ builds }) => builds));
  // It has the package, too.
  if (steps.has("build:this-platform")) steps.delete("build:package");
  for (const name of steps) await step(name, () => mustRun("npm", ["run", "--silent", name]));
}

/**
 * Runs the files that may have been over their budgets once more, each with the machine for itself.
 *
 * @param {readonly Done[]} done
 * @returns {Promise<Done[]>}
 */
async function checkBudgets(done) {
  const slow = suspects(done);
  if (slow.length === 0) return [];
  if (await isMachineBusy()) {
    console.log("Other programs keep the processors busy: the budgets of files are not checked.");
    return [];
  }
  const jobs = slow.map((job) => ({ ...job, lane: /** @type {const} */ ("alone") }));
  const options = { isAll: true, isRemembered: false, say: console.log };
  const { done: again } = await runAll(jobs, options);
  return again.map(budgetCheck);
}
