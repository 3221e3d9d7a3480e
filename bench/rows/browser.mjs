// @ts-check
/** The same clients in headless Chromium, each measurement in a page of its own. */

import { prepareChromium } from "../../scripts/setup/chromium.mjs";
import { launchChromium } from "../../tests/browser/chromium.mjs";
import { begin } from "../child.mjs";
import { WORKLOADS } from "../workloads.mjs";
import { checked } from "./prepared.mjs";

/** @returns {AsyncGenerator<import("../main.mjs").Row>} */
export async function* browserRows() {
  await prepareChromium();
  for (const [name, workload] of Object.entries(WORKLOADS)) {
    for (const what of ["exec", "stream"]) {
      const { child, answer } = await begin("server.mjs", [name]);
      const columns = Object.fromEntries(
        ["bare", "plain", "sandpipe"].map((client) => [
          client,
          async () => checked(client, await inPage(client, what, answer.url), answer),
        ]),
      );
      const title = `Chromium: ${what === "exec" ? "exec" : "streamOutput"}, ${workload().title}`;
      const end = async () => void child.kill();
      yield { name: `browser-${what}-${name}`, title, reference: "bare", columns, end };
    }
  }
}

/**
 * @param {string} client
 * @param {string} what
 * @param {string} url
 */
async function inPage(client, what, url) {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await page.goto(`${url}/files/bench/page.html`);
    await page.waitForFunction("globalThis.measure");
    return await page.evaluate(
      // @ts-expect-error The page's script defines it.
      ([client, what]) => globalThis.measure(client, what),
      /** @type {const} */ ([client, what]),
    );
  } finally {
    await browser.close();
  }
}
