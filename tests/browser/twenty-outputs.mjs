// @ts-check
import { paneOf } from "./console.mjs";

/**
 * Starts twenty commands and opens their outputs; gives what shows one of them.
 *
 * @param {import("./console.mjs").ConsoleRig} rig
 * @param {import("playwright-core").Page} page
 * @param {(number: number) => string} script
 */
export async function openTwenty(rig, page, script) {
  const { execs } = await rig.client();
  /** @type {string[]} */
  const ids = [];
  for (let number = 1; number <= 20; number++) {
    const { id } = await execs.create({ command: "sh", args: ["-c", script(number)] });
    ids.push(id);
    await page.locator(`[data-run="${id}"] [data-main]`).click();
    await page.locator(`[data-tab="${id}"]`).waitFor();
  }
  return async (/** @type {number} */ number) => {
    await page.locator(`[data-tab="${ids[number - 1]}"]`).click();
    return paneOf(page, script(number));
  };
}
