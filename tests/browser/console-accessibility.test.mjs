// @ts-check
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { ConsoleRig, connected, fillSignIn, run, shows } from "./console.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const rig = await ConsoleRig.start();
after(() => rig.stop());

const WINDOWS = { wide: { width: 1280, height: 900 }, narrow: { width: 360, height: 700 } };

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  for (const [name, viewport] of Object.entries(WINDOWS)) {
    test(`no view has a serious finding, ${colorScheme}, in a ${name} window`, async () => {
      const page = await rig.open({ colorScheme, viewport });
      await fillSignIn(page, rig.agent.url, "wrong");
      await page.getByRole("alert").waitFor();
      await check(page, "sign-in");
      await fillSignIn(page, rig.agent.url, rig.agent.token);
      await connected(page);

      const ended = await run(page, "echo out; echo err >&2; exit 3", { cwd: "/" });
      await shows(ended, "err");
      await ended.getByRole("button", { name: "Find" }).click();
      await shows(await run(page, "echo up; exec sleep 1006"), "up");
      await run(page, "echo in a terminal; exec sleep 1006", { terminal: true });
      await page.getByText("Keyboard and screen readers").click();
      await check(page, "execs");

      await page.getByRole("link", { name: "Background" }).click();
      await page.getByLabel("Script").first().fill("echo hello; exit 2");
      await page.getByRole("button", { name: "Start", exact: true }).click();
      await shows(page.getByRole("region", { name: /^Output of echo hello/ }), "hello");
      await page
        .getByRole("button", { name: /^Remove: echo hello/ })
        .first()
        .waitFor();
      await check(page, "background");

      await page.getByRole("link", { name: "Sessions" }).click();
      await page.getByRole("button", { name: "Start a session" }).click();
      await page
        .getByRole("textbox", { name: /^Script \(/ })
        .fill("echo out; echo err >&2; ls /missing");
      await page.getByRole("textbox", { name: /^Script \(/ }).press("Control+Enter");
      await page.getByText("exit code 2").last().waitFor();
      await check(page, "sessions");
      await page.context().close();
    });
  }
}

/**
 * @param {import("playwright-core").Page} page
 * @param {string} view
 */
async function check(page, view) {
  await page.evaluate(axe);
  const violations = await page.evaluate("axe.run().then(({ violations }) => violations)");
  const serious = /** @type {import("axe-core").Result[]} */ (violations)
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => ({
      id,
      nodes: nodes.map(({ html, failureSummary }) => ({ html, failureSummary })),
    }));
  assert.deepEqual(serious, [], view);
  const overflow = await page.evaluate(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  assert.equal(overflow, 0, `${view} is wider than the window`);
}
