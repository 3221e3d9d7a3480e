// @ts-check
/** `npm run screenshots`: pictures of the console for the documentation, docs/img. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ConsoleRig, fillSignIn, connected, run, shows } from "../tests/browser/console.mjs";
import { command } from "./command.mjs";
import { root } from "./project.mjs";
import { prepareChromium } from "./setup/debian-packages.mjs";

const folder = join(root, "docs", "img");

await command(async () => {
  await prepareChromium();
  mkdirSync(folder, { recursive: true });
  const rig = await ConsoleRig.start();
  try {
    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
      await takeAll(rig, colorScheme);
    }
  } finally {
    await rig.stop();
  }
  return 0;
});

/**
 * @param {ConsoleRig} rig
 * @param {"light" | "dark"} colorScheme
 */
async function takeAll(rig, colorScheme) {
  const page = await rig.open({ colorScheme, viewport: { width: 1280, height: 800 } });
  const take = async (/** @type {string} */ view) => {
    // No pointer over a control, no cursor that blinks.
    await page.mouse.move(0, 0);
    const path = join(folder, `console-${view}-${colorScheme}.png`);
    await page.screenshot({ path, animations: "disabled" });
  };
  await take("sign-in");
  await fillSignIn(page, rig.agent.url, rig.agent.token);
  await connected(page);
  await takeExecs(page, take);
  await takeBackground(page, take);
  await takeSessions(page, take);
  // The next theme begins with an empty list.
  const { execs } = await rig.client();
  for (const { id } of await execs.list()) await execs.delete(id);
  await page.context().close();
}

/**
 * @param {import("playwright-core").Page} page
 * @param {(view: string) => Promise<void>} take
 */
async function takeExecs(page, take) {
  await page.getByRole("button", { name: "Open a shell" }).click();
  const shell = page.getByRole("region", { name: "Output of bash -i" });
  await shell.locator(".xterm-rows").filter({ hasText: /[$#]/ }).waitFor();
  await page.keyboard.type(
    "PS1='$ '; clear; for n in 31 32 33 34 35 36; do printf '\\e[%sm%s ' $n colour; done; echo; stty size",
  );
  await page.keyboard.press("Enter");
  await shell
    .locator(".xterm-rows")
    .filter({ hasText: /\d+ \d+/ })
    .waitFor();
  const done = await run(page, "uname -sm");
  await shows(done, "Linux");
  await done.getByRole("button", { name: "Close" }).click();
  const server = await run(
    page,
    'echo "listening on :8080"; for n in 1 2 3; do echo "GET /items/$n 200"; done; exec sleep 600',
  );
  await shows(server, "items/3");
  await server.getByRole("button", { name: "Close" }).click();
  const tests =
    'for name in parser resume retry; do echo "ok   $name"; done; sleep 0.1; echo "FAIL stop: expected 143, got 0" >&2; sleep 0.1; echo "3 passed, 1 failed"; exit 3';
  await shows(await run(page, tests), "1 failed");
  await page.evaluate("scrollTo(0, 0)");
  await take("execs");
}

/**
 * @param {import("playwright-core").Page} page
 * @param {(view: string) => Promise<void>} take
 */
async function takeBackground(page, take) {
  await page.getByRole("link", { name: "Background" }).click();
  const form = page.getByRole("form", { name: "Start a process" });
  const spawn = async (/** @type {string} */ name, /** @type {string} */ script) => {
    await form.getByLabel("Script").fill(script);
    await form.getByLabel("Name").fill(name);
    await form.getByRole("button", { name: "Start" }).click();
    await page.getByRole("table").getByText(name, { exact: true }).waitFor();
  };
  await spawn("migrate", "echo 14 migrations applied; exit 0");
  await spawn("build", "echo compiling; echo 'error: no rule for target' >&2; exit 2");
  const lines =
    'for n in 1 2 3 4 5 6; do echo "info  request $n"; echo "warn  slow query $n"; done';
  await spawn("dev server", `${lines}; exec sleep 600`);
  const panel = page.getByRole("region", { name: "Output of dev server" });
  await shows(panel, "slow query 6");
  await panel.getByRole("searchbox").fill("warn|error");
  await panel.getByRole("button", { name: "Filter" }).click();
  await panel.locator(".xterm-rows").filter({ hasNotText: "info" }).waitFor();
  await shows(panel, "slow query 6");
  await page.getByRole("row", { name: /build/ }).getByText("EXITED").waitFor();
  await take("background");
  for (const [action, name] of [
    ["Terminate", "dev server"],
    ["Remove", "dev server"],
    ["Remove", "build"],
    ["Remove", "migrate"],
  ]) {
    const button = page.getByRole("button", { name: `${action}: ${name}` });
    await button.click();
    await button.waitFor({ state: "detached" });
  }
  await page.getByText("No processes yet.").waitFor();
}

/**
 * @param {import("playwright-core").Page} page
 * @param {(view: string) => Promise<void>} take
 */
async function takeSessions(page, take) {
  await page.getByRole("link", { name: "Sessions" }).click();
  await page.getByRole("button", { name: "Start a session" }).click();
  const panel = page.getByRole("region", { name: /^Session / });
  const scripts = [
    "cd /usr && export GREETING=hello",
    'echo "$GREETING from $PWD"',
    "ls missing; exit_code=$?; echo still here; (exit $exit_code)",
  ];
  for (const script of scripts) {
    await panel.getByRole("textbox").fill(script);
    await page.keyboard.press("Control+Enter");
    await panel
      .getByRole("listitem")
      .filter({ hasText: script })
      .getByText(/exit code/)
      .first()
      .waitFor();
  }
  await take("sessions");
  await panel.getByRole("button", { name: "Close session" }).click();
  await panel.waitFor({ state: "detached" });
}
