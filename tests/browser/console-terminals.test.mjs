// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../support/processes.mjs";
import { ConsoleRig, paneOf, rowOf, run, shown, shows } from "./console.mjs";

const rig = await ConsoleRig.forTests();

test("an interactive shell takes what is typed, and the size of its terminal", async () => {
  const page = await rig.signIn();
  await page.getByRole("button", { name: "Open a shell" }).click();
  const panel = paneOf(page, "bash -i");
  // The prompt, root's or another's.
  await panel.locator(".xterm-rows").filter({ hasText: /[$#]/ }).waitFor();
  let asked = 0;
  const size = async () => {
    asked++;
    await page.keyboard.type(`clear; echo size ${asked}: $(stty size).`);
    await page.keyboard.press("Enter");
    const answer = new RegExp(`size ${asked}: (\\d+) (\\d+)\\.`);
    let text = "";
    await until(async () => answer.test((text = await shown(panel))));
    const [, rows, cols] = answer.exec(text) ?? [];
    return { rows: Number(rows), cols: Number(cols) };
  };
  const onScreen = () => panel.locator(".xterm-rows > div").count();
  const large = await size();
  assert.equal(large.rows, await onScreen());
  await page.setViewportSize({ width: 500, height: 500 });
  await until(async () => (await onScreen()) !== large.rows);
  let small = await size();
  // The new size is on its way while the first ones are asked for, and may be another at first.
  await until(async () => {
    if (small.rows === (await onScreen())) return true;
    small = await size();
    return false;
  });
  assert.ok(small.cols < large.cols, `${small.cols} < ${large.cols}`);

  await page.keyboard.press("Control+Shift+ArrowUp");
  await until(() => page.evaluate("document.activeElement.closest('.pane-tools') !== null"));
  await panel.getByLabel("Terminal of bash -i").focus();
  await page.keyboard.type("exit 7");
  await page.keyboard.press("Enter");
  await panel.getByText("exit code 7", { exact: true }).waitFor();
  await page.context().close();
});

test("a terminal that opens late does not take the keyboard from another field", async () => {
  const page = await rig.signIn();
  await page.route("**/api/v1/execs", async (route) => {
    // The create has not been answered yet.
    if (route.request().method() === "POST") await page.getByRole("searchbox").focus();
    await route.continue();
  });
  const panel = await run(page, "echo attached; exec cat", { terminal: true });
  await shows(panel, "attached");
  assert.equal(await page.evaluate("document.activeElement.type"), "search");
  const { execs } = await rig.client();
  for (const { id, status } of await execs.list()) {
    if (status === "RUNNING") await execs.terminate(id);
  }
  await page.context().close();
});

test("a terminal that is opened again answers nothing that was answered before", async () => {
  const { execs } = await rig.client();
  // It asks where the cursor is, and shows what is typed.
  const script = "stty raw -echo; printf '\\033[6n'; exec cat -v";
  const { id } = await execs.create({ command: "sh", args: ["-c", script], pty: true });
  const output = async () => (await execs.getOutput(id)).output;
  await until(async () => (await output()).includes("[6n"));
  const page = await rig.signIn();
  await rowOf(page, "stty raw").locator("[data-main]").click();
  await page.locator(`[data-output="${id}"] textarea`).focus();
  // What is typed before the terminal is there is lost.
  await until(async () => {
    await page.keyboard.type("x");
    return (await output()).includes("x");
  });
  assert.match(await output(), /^\x1b\[6nx+$/);
  await execs.terminate(id);
  await page.context().close();
});

test("where the terminal can't be loaded, the output says what to do, and is read when it can", async () => {
  const page = await rig.signIn();
  let isAway = true;
  await page.route("**/assets/screen-*.js", (route) => (isAway ? route.abort() : route.continue()));
  const panel = await run(page, "echo late");
  await panel.getByRole("alert").filter({ hasText: "Reload the page." }).waitFor();
  isAway = false;
  // It is tried again when the output comes into sight.
  await page.getByRole("link", { name: "Files" }).click();
  await page.getByRole("link", { name: "Runs" }).click();
  await shows(panel, "late");
  await panel.getByRole("alert").waitFor({ state: "detached" });
  await page.context().close();
});
