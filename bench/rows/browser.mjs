// @ts-check
/** The same clients in headless Chromium, each measurement in a page of its own. */

import { prepareChromium } from "../../scripts/setup/debian-packages.mjs";
import { launchChromium } from "../../tests/support/chromium.mjs";
import { openAgent, openPrepared } from "../targets.mjs";
import { rows } from "./clients.mjs";

const clients = ["bare", "plain", "sandpipe"];

export const browserRows = [
  ...rows("browser-", "Chromium: ", {
    open: (workload) => openPrepared(workload),
    clients: [...clients, "text-decoder"],
    measure: inPage,
  }),
  ...rows("browser-e2e-", "Chromium, real agent: ", {
    open: openAgentOfPages,
    clients,
    measure: inPage,
  }),
];

/**
 * The agent, and a server of the pages that may use it.
 *
 * @param {string} workload
 */
async function openAgentOfPages(workload) {
  const pages = await openPrepared("tiny");
  const { url } = pages.target;
  const agent = await openAgent(workload, ["--allow-origin", url]).catch(async (error) => {
    await pages.end();
    throw error;
  });
  return {
    ...agent,
    target: { ...agent.target, pages: url },
    async end() {
      await agent.end();
      await pages.end();
    },
  };
}

/**
 * @param {string} client
 * @param {string} call
 * @param {import("../targets.mjs").Target} target
 */
async function inPage(client, call, target) {
  await prepareChromium();
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await page.goto(`${target.pages ?? target.url}/files/bench/page.html`);
    await page.waitForFunction("globalThis.measure");
    return await page.evaluate(
      // @ts-expect-error The page's script defines it.
      ([client, call, target]) => globalThis.measure(client, call, target),
      /** @type {const} */ ([client, call, target]),
    );
  } finally {
    await browser.close();
  }
}
