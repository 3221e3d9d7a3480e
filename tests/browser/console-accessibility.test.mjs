// @ts-check
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { Relay } from "../support/relay.mjs";
import { ConsoleRig, choose, connected, fillSignIn, rowOf, run, shows } from "./console.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const rig = await ConsoleRig.start();
const relay = new Relay(rig.agent.url);
const url = await relay.listen();
after(async () => {
  await rig.stop();
  await relay.close();
});

const wide = { width: 1280, height: 900 };
const narrow = { width: 360, height: 700 };

/** @type {Record<string, import("playwright-core").BrowserContextOptions>} */
const WINDOWS = {
  light: { colorScheme: "light", viewport: wide },
  dark: { colorScheme: "dark", viewport: wide },
  "light and narrow": { colorScheme: "light", viewport: narrow },
  "dark and narrow": { colorScheme: "dark", viewport: narrow },
  "light, with more contrast": { colorScheme: "light", viewport: wide, contrast: "more" },
  "dark, with more contrast": { colorScheme: "dark", viewport: wide, contrast: "more" },
  "of forced colours, without motion": {
    viewport: wide,
    forcedColors: "active",
    reducedMotion: "reduce",
  },
};

for (const [name, options] of Object.entries(WINDOWS)) {
  test(`no view has a finding in a window that is ${name}`, async () => {
    const page = await rig.open(options, "", url);
    const isNarrow = options.viewport === narrow;
    const back = async () => {
      if (isNarrow) await page.getByRole("button", { name: "Back to the list" }).click();
    };
    await fillSignIn(page, url, "wrong");
    await page.getByRole("alert").waitFor();
    await check(page, "sign-in");
    await fillSignIn(page, url, rig.agent.token);
    await connected(page);
    await page.getByText("No runs yet").waitFor();
    try {
      await check(page, "no runs");
      await checkRuns(page, isNarrow, back);
      await checkOthers(page, back);
    } finally {
      // The next one begins with an empty list.
      await page.context().close();
      const { execs } = await rig.client();
      for (const { id } of await execs.list()) await execs.delete(id);
    }
  });
}

/**
 * @param {import("playwright-core").Page} page
 * @param {boolean} isNarrow
 * @param {() => Promise<void>} back
 */
async function checkRuns(page, isNarrow, back) {
  const ended = await run(page, "echo out; echo err >&2; exit 3", { cwd: "/" });
  await shows(ended, "err");
  await ended.getByRole("button", { name: "Find" }).click();
  await check(page, "an output and its search");
  await shows(await run(page, "echo up; exec sleep 1006"), "up");
  await run(page, "echo in a terminal; exec sleep 1006", { terminal: true });
  await check(page, "a terminal");
  await back();
  if (!isNarrow) {
    await choose(page, "echo up", "Open beside");
    await page.getByRole("separator", { name: "Divide the outputs" }).waitFor();
  }
  await page.getByRole("searchbox").fill("err");
  await page.getByRole("searchbox").press("Enter");
  await page.getByText("1 of 3 outputs have it near their end").waitFor();
  await check(page, "the list, and what a search found in outputs");
  await page.getByRole("searchbox").fill("");
  await rowOf(page, "echo out").hover();
  await rowOf(page, "echo out").getByRole("button", { name: "Actions" }).click();
  await check(page, "the menu of a run");
  await page.getByRole("menuitem", { name: "Remove" }).click();
  await page.getByRole("status").filter({ hasText: "Removed" }).waitFor();
  await check(page, "a removal that can be undone");
  await page.getByRole("button", { name: "Keyboard and screen readers" }).click();
  await page.getByRole("dialog").waitFor();
  await check(page, "the help");
  await page.keyboard.press("Escape");
  await page.context().setOffline(true);
  relay.breakAll();
  await page.getByRole("alert").filter({ hasText: "Connection lost" }).waitFor();
  await check(page, "a lost connection");
  await page.context().setOffline(false);
  await connected(page);
}

/**
 * @param {import("playwright-core").Page} page
 * @param {() => Promise<void>} back
 */
async function checkOthers(page, back) {
  await page.getByRole("link", { name: "Background" }).click();
  await page.getByLabel("Script").first().fill("echo hello; exit 2");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await shows(page.getByRole("region", { name: /^Output of echo hello/ }), "hello");
  await check(page, "the output of a process");
  await back();
  const process = page.getByRole("listitem").filter({ hasText: "echo hello" });
  await process.getByText("Failed 2").waitFor();
  await check(page, "background");
  await process.hover();
  await process.getByRole("button", { name: "Remove" }).click();
  await page.getByText("No processes yet").waitFor();
  await check(page, "no processes");

  await page.getByRole("link", { name: "Sessions" }).click();
  await check(page, "no sessions");
  await page.getByRole("button", { name: "Start a session" }).click();
  const script = page.getByRole("textbox", { name: /^Script \(/ });
  await script.fill("echo out; echo err >&2; ls /missing");
  await script.press("Control+Enter");
  await page.getByText("exit code 2").last().waitFor();
  await check(page, "a session");
}

/**
 * @param {import("playwright-core").Page} page
 * @param {string} view
 */
async function check(page, view) {
  await page.evaluate(axe);
  const violations = await page.evaluate("axe.run().then(({ violations }) => violations)");
  const found = /** @type {import("axe-core").Result[]} */ (violations).map(({ id, nodes }) => ({
    id,
    nodes: nodes.map(({ html, failureSummary }) => ({ html, failureSummary })),
  }));
  assert.deepEqual(found, [], view);
  const overflow = await page.evaluate(
    "[document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight - innerHeight]",
  );
  assert.deepEqual(overflow, [0, 0], `${view} is larger than the window`);
}
