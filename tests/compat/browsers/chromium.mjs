// @ts-check
import { launchChromium } from "../../support/chromium.mjs";

/** Pages in Chromium, each in a context of its own: they share neither workers nor caches. */
export class ChromiumVisits {
  /** @type {ReturnType<typeof launchChromium> | undefined} */
  #browser;

  /**
   * @param {string} address
   * @param {Promise<{ found?: unknown, error?: string }>} reported
   * @returns {Promise<{ found?: unknown, error?: string }>} also what the page wrote to its console as errors
   */
  async open(address, reported) {
    const browser = await (this.#browser ??= launchChromium());
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      /** @type {string[]} */
      const consoleErrors = [];
      page.on("console", (message) => {
        if (message.type() === "error") consoleErrors.push(message.text());
      });
      /** @type {Promise<{ error: string }>} */
      const broken = new Promise((resolve) => {
        page.on("pageerror", (error) => resolve({ error: String(error) }));
      });
      await page.goto(address);
      const answer = await Promise.race([reported, broken]);
      if (answer.error === undefined || consoleErrors.length === 0) return answer;
      return { error: `${answer.error}\nthe page's console: ${consoleErrors.join("\n")}` };
    } finally {
      await context.close();
    }
  }

  async close() {
    await (await this.#browser)?.close();
  }
}
