// @ts-check
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { ChromiumVisits } from "./chromium.mjs";
import { openInFirefox } from "./firefox.mjs";
import { openInWebKit } from "./webkit.mjs";

/** @typedef {"chromium" | "firefox" | "webkit"} Browser */

/** A page that has not reported by then has not begun. */
const REPORT_TIMEOUT_MS = 120_000;

/** Opens pages in browsers, and receives what they report. */
export class Visits {
  /** @type {Map<string, (answer: { found?: unknown, error?: string }) => void>} */
  #waiting = new Map();
  #chromium = new ChromiumVisits();
  #server = createServer(async (request, response) => {
    response.setHeader("access-control-allow-origin", "*");
    const body = await text(request);
    if (request.method === "POST") this.#waiting.get(request.url ?? "")?.(JSON.parse(body));
    response.end();
  });
  #next = 0;

  async start() {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  /**
   * @param {import("../application.mjs").Application} app
   * @param {Browser} browser
   * @param {string} address of a page that calls `runInPage()`
   * @returns {Promise<unknown>} what its job found
   */
  async visit(app, browser, address) {
    const { port } = /** @type {import("node:net").AddressInfo} */ (this.#server.address());
    const path = `/${this.#next++}`;
    const request = { agent: app.agent, report: `http://127.0.0.1:${port}${path}` };
    const page = `${address}#${encodeURIComponent(JSON.stringify(request))}`;
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    /** @type {Promise<{ found?: unknown, error?: string }>} */
    const reported = new Promise((resolve) => {
      this.#waiting.set(path, resolve);
      const error = `the page reported nothing for ${REPORT_TIMEOUT_MS / 1000} s`;
      timer = setTimeout(() => resolve({ error }), REPORT_TIMEOUT_MS);
    });
    try {
      const { found, error } = await this.#open(app, browser, page, reported);
      if (error !== undefined) throw new Error(error);
      return found;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(path);
    }
  }

  /**
   * @param {import("../application.mjs").Application} app
   * @param {Browser} browser
   * @param {string} page
   * @param {Promise<{ found?: unknown, error?: string }>} reported
   */
  async #open(app, browser, page, reported) {
    if (browser === "chromium") return this.#chromium.open(page, reported);
    await (browser === "firefox" ? openInFirefox : openInWebKit)(app, page);
    return reported;
  }

  async close() {
    this.#server.close();
    this.#server.closeAllConnections();
    await this.#chromium.close();
  }
}
