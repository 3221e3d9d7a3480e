// @ts-check
/** What axe finds in the views of the console: in a wide and in a narrow window, however that looks. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { until } from "../support/processes.mjs";

/**
 * @typedef {NonNullable<Parameters<import("playwright-core").Page["emulateMedia"]>[0]>} Look
 *
 * @typedef {object} Window
 * @property {import("playwright-core").ViewportSize} viewport
 * @property {Record<string, Look>} looks what a user's system may ask for
 */

/** @type {Look} */
const light = {
  ...{ colorScheme: "light", contrast: "no-preference" },
  ...{ forcedColors: "none", reducedMotion: "no-preference" },
};
/** @type {Look} */
const dark = { ...light, colorScheme: "dark" };

/** @type {Record<"wide" | "narrow", Window>} */
export const WINDOWS = {
  wide: {
    viewport: { width: 1280, height: 900 },
    looks: {
      light,
      dark,
      "light, with more contrast": { ...light, contrast: "more" },
      "dark, with more contrast": { ...dark, contrast: "more" },
      "of forced colours, without motion": {
        ...{ ...light, forcedColors: "active", reducedMotion: "reduce" },
      },
    },
  },
  narrow: { viewport: { width: 360, height: 700 }, looks: { light, dark } },
};

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * Checks a view in every look of its window; it is light then as it was before.
 *
 * @param {import("playwright-core").Page} page
 * @param {Window} window
 * @param {string} view
 */
export async function checkView(page, { looks }, view) {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe);
  for (const [name, look] of Object.entries(looks)) {
    await page.emulateMedia(look);
    // Colours become others in a moment.
    await page.evaluate(
      "document.getAnimations().filter((one) => one instanceof CSSTransition).forEach((one) => one.finish())",
    );
    const violations = await page.evaluate(
      "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)",
    );
    const found = /** @type {import("axe-core").Result[]} */ (violations).map(({ id, nodes }) => ({
      id,
      nodes: nodes.map(({ html, failureSummary }) => ({ html, failureSummary })),
    }));
    assert.deepEqual(found, [], `${view}, ${name}`);
    // A terminal is as large as its pane a moment after that has changed.
    const fits =
      "document.documentElement.scrollWidth === innerWidth && document.documentElement.scrollHeight === innerHeight";
    await until(() => page.evaluate(fits), {
      describe: () => `${view}, ${name}, is larger than the window`,
    });
  }
  await page.emulateMedia(light);
}

/**
 * @typedef {object} Subject
 * @property {import("playwright-core").Page} page
 * @property {boolean} isNarrow
 * @property {(view: string) => Promise<void>} check checks the view that is shown
 * @property {() => Promise<void>} back goes back to the list, where that is a view of its own
 *
 * @typedef {import("./console.mjs").ConsoleRig} ConsoleRig
 */

/**
 * Opens a page in a window.
 *
 * @param {ConsoleRig} rig
 * @param {Window} window
 * @param {string} [url] of a way to the agent
 * @returns {Promise<Subject>}
 */
export async function openSubject(rig, window, url) {
  const page = await rig.open({ viewport: window.viewport, ...window.looks["light"] }, "", url);
  const isNarrow = window === WINDOWS.narrow;
  return {
    ...{ page, isNarrow },
    check: (view) => checkView(page, window, view),
    back: async () => {
      if (isNarrow) await page.getByRole("button", { name: "Back to the list" }).click();
    },
  };
}
