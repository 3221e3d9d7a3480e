// @ts-check
/** The console in a real browser, as an agent of the test's own serves it. */

import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { after, afterEach } from "node:test";
import { connect } from "sandpipe";
import { temporaryFolder } from "../support/installed-package.mjs";
import { launchChromium } from "../support/chromium.mjs";
import { until } from "../support/processes.mjs";
import { RestartableAgent } from "../support/restartable-agent.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** A PNG of 3 × 2 pixels. */
export const PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAADklEQVR4nGNIgAEGOAsAQ5QGweRWb7oAAAAASUVORK5CYII=",
  "base64",
);

/** What the tests of a file share: a browser and an agent, and pages with the console. */
export class ConsoleRig {
  /** What went wrong in a page that nobody showed. @type {string[]} */
  problems = [];

  /**
   * @param {Awaited<ReturnType<typeof launchChromium>>} browser
   * @param {RestartableAgent} agent
   */
  constructor(browser, agent) {
    this.browser = browser;
    this.agent = agent;
  }

  static async start(launch = launchChromium) {
    const agent = new RestartableAgent(await temporaryFolder());
    await agent.start();
    return new ConsoleRig(await launch(), agent);
  }

  /** The same for the tests of a file, up to the last. Each fails by errors that its pages did not show. */
  static async forTests(launch = launchChromium) {
    const rig = await ConsoleRig.start(launch);
    after(() => rig.stop());
    afterEach(async () => {
      await rig.#closeFailed();
      assert.deepEqual(rig.problems.splice(0), []);
    });
    return rig;
  }

  async stop() {
    await this.browser.close();
    await this.agent.stop();
    await rm(this.agent.folder, { recursive: true, force: true });
  }

  /** Tests close their pages; what is still open failed: it says what it showed. */
  async #closeFailed() {
    for (const context of this.browser.contexts()) {
      for (const page of context.pages()) {
        const text = await page.locator("body").innerText({ timeout: 5_000 });
        console.error(`A page that is open at the end of a test, ${page.url()}:\n${text}`);
      }
      await context.close();
    }
  }

  /**
   * Opens the page where one signs in.
   *
   * @param {import("playwright-core").BrowserContextOptions} [options]
   * @param {string} [fragment] of the address
   * @param {string} [url] the agent's, or that of a way to it
   */
  async open(options, fragment = "", url = this.agent.url) {
    const context = await this.browser.newContext({
      viewport: { width: 1280, height: 900 },
      ...options,
    });
    // Longer than anything takes on a busy machine.
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    page.on("pageerror", (error) => this.problems.push(String(error)));
    page.on("console", (message) => {
      // The browser tells of every answer that is an error, foreseen or not.
      const isAnswer = message.text().startsWith("Failed to load resource");
      if (message.type() === "error" && !isAnswer) this.problems.push(message.text());
    });
    await page.goto(`${url}/${fragment}`);
    return page;
  }

  /**
   * Opens the console, signed in.
   *
   * @param {import("playwright-core").BrowserContextOptions} [options]
   */
  async signIn(options) {
    const page = await this.open(options);
    await fillSignIn(page, this.agent.url, this.agent.token);
    await connected(page);
    return page;
  }

  /** A client of the agent beside the page. */
  client() {
    const { url, token } = this.agent;
    return connect({ url, token });
  }
}

/**
 * @param {Page} page
 * @param {string} url
 * @param {string} token
 */
export async function fillSignIn(page, url, token) {
  await page.getByLabel("Agent’s URL").fill(url);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** @param {Page} page */
export async function connected(page) {
  await page
    .getByRole("status")
    .filter({ hasText: /^Connected$/ })
    .waitFor();
}

/**
 * Runs a command line; gives the pane with its output.
 *
 * @param {Page} page
 * @param {string} line
 * @param {{ terminal?: boolean, cwd?: string, env?: string }} [options]
 */
export async function run(page, line, { terminal = false, cwd, env } = {}) {
  // In a narrow window the list and an output are views of their own.
  const back = page.getByRole("button", { name: "Back to the list" });
  if (await back.isVisible()) await back.click();
  const form = page.getByRole("form", { name: "Run a command" });
  await form.getByLabel("Command").fill(line);
  await form.getByLabel("Terminal").setChecked(terminal);
  if (cwd !== undefined || env !== undefined) {
    await form.getByRole("button", { name: "Options" }).click();
    await form.getByLabel("Directory", { exact: true }).fill(cwd ?? "");
    await form.getByLabel("Environment").fill(env ?? "");
  }
  await form.getByRole("button", { name: "Run", exact: true }).click();
  const pane = paneOf(page, line);
  if ((page.viewportSize()?.width ?? 0) < 720) await pane.waitFor();
  return pane;
}

/**
 * The pane with the output of a command line.
 *
 * @param {Page} page
 * @param {string} line
 */
export function paneOf(page, line) {
  const title = JSON.stringify(line.replaceAll("'", `'\\''`));
  return page.locator("section.pane").filter({ has: page.locator(`h2[title*=${title}]`) });
}

/**
 * The row of a command in the list.
 *
 * @param {Page} page
 * @param {string} text of the row
 */
export function rowOf(page, text) {
  return page.getByRole("list", { name: "Runs" }).getByRole("listitem").filter({ hasText: text });
}

/**
 * The row of a file in the tree of files.
 *
 * @param {Page} page
 * @param {string} name
 */
export function fileRow(page, name) {
  return page
    .getByRole("treeitem")
    .filter({ has: page.locator(".file-name").getByText(name, { exact: true }) });
}

/**
 * Chooses an action of a run's menu in the list.
 *
 * @param {Page} page
 * @param {string} text of its row
 * @param {string} action
 */
export async function choose(page, text, action) {
  await rowOf(page, text).hover();
  await rowOf(page, text).getByRole("button", { name: "Actions" }).click();
  await page.getByRole("menuitem", { name: action }).click();
}

/** How long a removal can be undone, and how long a command may take to end before it is killed, in milliseconds. */
export const UNDO_MS = 6_000;
export const GRACE_MS = 10_000;

/**
 * Holds timers back that a page sets from now on: what they would end stays, however long a test takes to look at it.
 *
 * @param {Page} page
 * @param {readonly number[]} milliseconds those of the timers
 */
export async function holdTimers(page, milliseconds) {
  const held = await page.evaluateHandle(
    /** @returns {Map<unknown, () => void>} */ (milliseconds) => {
      const { setTimeout, clearTimeout } = globalThis;
      const held = new Map();
      const set = (
        /** @type {() => void} */ callback,
        /** @type {number} */ ms,
        /** @type {unknown[]} */ ...args
      ) => {
        if (!milliseconds.includes(ms)) return setTimeout(callback, ms, ...args);
        const id = setTimeout(() => undefined, 2 ** 31 - 1);
        held.set(id, callback);
        return id;
      };
      const clear = (/** @type {number} */ id) => {
        held.delete(id);
        clearTimeout(id);
      };
      Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
      return held;
    },
    milliseconds,
  );
  const count = () => held.evaluate((held) => held.size);
  return {
    /** Waits until one is held. */
    isHeld: () => until(async () => (await count()) > 0),
    /** Has those that are held come to their end. */
    letGo: async () => {
      assert.ok((await count()) > 0, "no timer is held");
      await held.evaluate((held) => {
        for (const [id, callback] of [...held]) {
          held.delete(id);
          callback();
        }
      });
    },
  };
}

/**
 * Waits until the countdown to a kill has gone on.
 *
 * @param {import("playwright-core").Locator} pane
 */
export async function countsDown(pane) {
  const countdown = pane.getByText(/^killed in \d+ s$/);
  const seconds = async () => Number(/\d+/.exec(await countdown.innerText())?.[0]);
  const first = await seconds();
  await until(async () => (await seconds()) < first);
}

/**
 * What a screen shows, without the empty lines at its end.
 *
 * @param {import("playwright-core").Locator} within
 */
export async function shown(within) {
  const text = await within.locator(".xterm-rows").innerText();
  return text.replaceAll("\u00a0", " ").replace(/[\s]+$/, "");
}

/**
 * Waits until a screen shows a text; gives all that it shows.
 *
 * @param {import("playwright-core").Locator} within
 * @param {string} text
 */
export async function shows(within, text) {
  await within.locator(".xterm-rows").filter({ hasText: text }).waitFor();
  return shown(within);
}
