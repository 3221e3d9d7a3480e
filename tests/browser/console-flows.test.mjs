// @ts-check
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../support/processes.mjs";
import {
  choose,
  connected,
  ConsoleRig,
  fillSignIn,
  holdTimers,
  paneOf,
  rowOf,
  run,
  shown,
  shows,
  UNDO_MS,
} from "./console.mjs";

const rig = await ConsoleRig.forTests();

/** @typedef {import("playwright-core").Page} Page */

/** The ids of the tabs. @param {Page} page @returns {Promise<string[]>} */
const tabsOf = (page) =>
  page.evaluate("[...document.querySelectorAll('[data-tab]')].map((tab) => tab.dataset.tab)");

test("a run is run again as it was, and the arrow keys bring what was run before", async () => {
  const page = await rig.signIn();
  const line = 'echo "$GREETING from $PWD"';
  const first = await run(page, line, { cwd: "/usr", env: "GREETING=hello" });
  assert.equal(await shows(first, "hello"), "hello from /usr");
  const id = await first.getAttribute("data-output");
  await first.getByRole("button", { name: "Run again" }).click();
  const second = page.locator(`section.pane:not([data-output="${id}"])`);
  assert.equal(await shows(second, "hello"), "hello from /usr");

  await run(page, "echo newer");
  const command = page.getByLabel("Command", { exact: true });
  // It is in the list now.
  await until(async () => (await command.inputValue()) === "");
  await command.fill("draft");
  for (const [key, expected] of [
    ["ArrowUp", "echo newer"],
    ["ArrowUp", line],
    ["ArrowUp", line],
    ["ArrowDown", "echo newer"],
    ["ArrowDown", "draft"],
  ]) {
    await command.press(String(key));
    assert.equal(await command.inputValue(), expected);
  }
  await page.context().close();
});

test("what is removed can be brought back, until the agent is told", async () => {
  const page = await rig.signIn();
  const { execs } = await rig.client();
  const listed = async () => (await execs.list()).map(({ args }) => args.join(" "));
  const sleeping = await execs.create({ command: "sleep", args: ["1011"] });
  const timers = await holdTimers(page, [UNDO_MS]);
  const pane = await run(page, "echo to be removed");
  await pane.getByText("Succeeded").waitFor();
  await choose(page, "to be removed", "Remove");
  await rowOf(page, "to be removed").waitFor({ state: "detached" });
  await pane.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Undo" }).click();
  await rowOf(page, "to be removed").waitFor();

  await page.getByRole("button", { name: "Clear ended" }).click();
  await page
    .getByRole("status")
    .filter({ hasText: /^Removed \d+ runs?/ })
    .waitFor();
  await page.getByText(/^1 runs?, 1 running$/).waitFor();
  assert.ok(
    (await listed()).some((args) => args.includes("to be removed")),
    "not yet",
  );
  await timers.letGo();
  await until(async () => (await listed()).join() === "1011");
  await rowOf(page, "sleep 1011").waitFor();
  await execs.terminate(sleeping.id);
  await page.context().close();
});

test("a search looks in outputs, and shows the line", async () => {
  const page = await rig.signIn();
  const { execs } = await rig.client();
  await execs.exec("sh", ["-c", "echo nothing"]);
  await execs.exec("sh", ["-c", "printf 'one\\n\\033[31mneedle in the output\\033[0m\\ntwo\\n'"]);
  await rowOf(page, "echo nothing").waitFor();
  const search = page.getByRole("searchbox", { name: "Search commands" });
  await search.fill("NEEDLE IN");
  await rowOf(page, "needle").waitFor();
  await search.fill("needle in the o");
  await search.press("Enter");
  await page.getByText(/^1 of \d+ outputs have it near their end$/).waitFor();
  await rowOf(page, "needle").getByText("needle in the output", { exact: true }).waitFor();
  assert.equal(await rowOf(page, "nothing").count(), 0);
  await search.press("Escape");
  await rowOf(page, "echo nothing").waitFor();
  await page.context().close();
});

test("a link opens the run in another tab, after the sign-in", async () => {
  const page = await rig.signIn({ permissions: ["clipboard-read", "clipboard-write"] });
  const line = "echo shared; exec sleep 1012";
  await shows(await run(page, line), "shared");
  await choose(page, "echo shared", "Copy link");
  const copied = async () => String(await page.evaluate("navigator.clipboard.readText()"));
  await until(async () => (await copied()) !== "");
  const link = await copied();
  assert.equal(link, page.url(), "the address names what is in sight");

  const other = await rig.open({}, new URL(link).hash);
  await fillSignIn(other, rig.agent.url, rig.agent.token);
  await shows(paneOf(other, line), "shared");
  assert.equal(other.url(), link);
  // In one step, with a token.
  const signed = await rig.open({}, `${new URL(link).hash}?token=${rig.agent.readOnlyToken}`);
  await shows(paneOf(signed, line), "shared");
  assert.equal(signed.url(), link);

  await signed.goto(`${rig.agent.url}/#/runs/nowhere`);
  await signed.getByText("This run is not there").waitFor();
  await signed.getByRole("button", { name: "Close the tab" }).click();
  await shows(paneOf(signed, line), "shared");
  const { execs } = await rig.client();
  await execs.terminate(String(new URL(link).hash.split("/").at(-1)));
  for (const { context } of [page, other, signed].map((page) => ({ context: page.context() })))
    await context.close();
});

test("five outputs are open again after a reload, as they were arranged", async () => {
  const page = await rig.signIn();
  const go = join(rig.agent.folder, "go-reload");
  const wait = `while [ ! -e '${go}' ]; do sleep 0.05; done`;
  const lines = [1, 2, 3, 4, 5].map((number) => `echo before ${number}; ${wait}; echo after`);
  for (const [index, line] of lines.entries()) {
    await shows(await run(page, line), `before ${index + 1}`);
  }
  await choose(page, "before 2", "Open beside");
  const divider = page.getByRole("separator", { name: "Divide the outputs" });
  for (let step = 0; step < 5; step++) await divider.press("ArrowRight");
  const box = await page.getByRole("separator", { name: "Divide list" }).boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x, box.y + 200);
  await page.mouse.down();
  await page.mouse.move(box.x + 90, box.y + 200, { steps: 3 });
  await page.mouse.up();
  const arrangement = async () => ({
    tabs: await tabsOf(page),
    panes: await page.locator("section.pane").count(),
    widths: await page.evaluate(
      "[...document.querySelectorAll('.list, section.pane')].map((part) => Math.round(part.getBoundingClientRect().width))",
    ),
    url: page.url(),
  });
  const before = await arrangement();
  assert.equal(before.tabs.length, 5);
  assert.equal(before.panes, 2);
  await page.reload();
  await connected(page);
  await shows(paneOf(page, String(lines[4])), "before 5");
  await shows(paneOf(page, String(lines[1])), "before 2");
  assert.deepEqual(await arrangement(), before);
  await writeFile(go, "");
  for (const [index, id] of before.tabs.entries()) {
    await page.locator(`[data-tab="${id}"]`).click();
    const pane = paneOf(page, String(lines[index]));
    assert.equal(await shows(pane, "after"), `before ${index + 1}\nafter`);
  }
  await page.context().close();
});

test("a loss is told in every scroll position and pane, and what an agent took with it is lost", async () => {
  const page = await rig.signIn();
  const { execs } = await rig.client();
  for (let number = 0; number < 30; number++) await execs.exec("true");
  const line = "seq 300; exec sleep 1013";
  await shows(await run(page, line), "300");
  const other = "echo other; exec sleep 1013";
  await run(page, other);
  await choose(page, "seq 300", "Open beside");
  await shows(paneOf(page, line), "300");
  // Each part is scrolled to where it begins or ends.
  await paneOf(page, line)
    .getByLabel(/^Output of/)
    .focus();
  await page.keyboard.press("Home");
  await page.getByRole("list", { name: "Runs" }).locator("[data-main]").first().focus();
  await page.keyboard.press("End");

  await rig.agent.kill();
  const banner = page.getByRole("alert").filter({ hasText: "Connection lost" });
  await banner.waitFor();
  assert.ok(await isInSight(page, banner));
  await page
    .getByText(/Next attempt in [1-5]\ss\./)
    .first()
    .waitFor();
  for (const shown of [line, other]) {
    const pane = paneOf(page, shown);
    const told = pane.getByText(/^Not live: what has become of this run since is not known\./);
    await told.waitFor();
    assert.ok(await isInSight(page, told));
    await pane.getByText("Unknown", { exact: true }).waitFor();
  }
  const said = (await page.locator("body").innerText()).match(/running/gi);
  assert.deepEqual(said, ["Running"], "only the filter is called so");

  await rig.agent.start();
  // The page may try by itself before.
  const tryNow = page.getByRole("button", { name: "Try now" });
  await Promise.any([tryNow.click(), connected(page)]);
  await connected(page);
  for (const shown of [line, other]) {
    const pane = paneOf(page, shown);
    await pane.getByText("Lost", { exact: true }).waitFor();
    await pane.getByText(/^The agent ended while this ran/).waitFor();
  }
  await page.getByRole("list", { name: "Runs" }).evaluate((list) => list.scrollTo(0, 0));
  await rowOf(page, "echo other").getByText("Lost", { exact: true }).waitFor();
  assert.equal(await shown(paneOf(page, other)), "other");
  assert.match(await shown(paneOf(page, line)), /^\d+\n\d+\n/);
  rig.problems = rig.problems.filter(
    (problem) => !/ERR_CONNECTION_(?:REFUSED|RESET)/.test(problem),
  );
  await page.context().close();
});

test("in a narrow window list and output are views, and Stop is in reach", async () => {
  const page = await rig.signIn({ viewport: { width: 360, height: 640 } });
  const pane = await run(page, "seq 200; exec sleep 1014");
  await shows(pane, "200");
  assert.equal(await page.getByRole("list", { name: "Runs" }).count(), 0);
  const stop = pane.getByRole("button", { name: "Stop" });
  assert.ok(await isInSight(page, stop));
  await page.goBack();
  await rowOf(page, "seq 200").waitFor();
  assert.equal(await pane.count(), 0);
  await page.goForward();
  await shows(pane, "200");
  await stop.click();
  await pane.getByText("Stopped", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Back to the list" }).click();
  await rowOf(page, "seq 200").getByText("Stopped", { exact: true }).waitFor();
  // Who goes on before the page has named the next output in the address is not brought back to it.
  await page.evaluate("location.hash = '#/runs/none'");
  await page.getByText("This run is not there").waitFor();
  await page.evaluate(`(async () => {
    document.querySelector(".pane button").click();
    await Promise.resolve();
    location.hash = "#/runs";
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  })()`);
  assert.match(page.url(), /#\/runs$/);
  const row = rowOf(page, "seq 200");
  await row.getByRole("button", { name: "Actions" }).click();
  await page.getByRole("menuitem", { name: "Copy link" }).waitFor();
  // There is room for one output alone.
  assert.equal(await page.getByRole("menuitem", { name: "Open beside" }).count(), 0);
  await page.keyboard.press("Escape");
  // Where its actions fade in, a row still opens its output.
  const { x, y, width } = (await row.boundingBox()) ?? assert.fail("no row");
  await page.mouse.click(x + width - 8, y + 4);
  await shows(pane, "200");
  await page.context().close();
});

/**
 * Whether something is where it can be seen without scrolling.
 *
 * @param {Page} page
 * @param {import("playwright-core").Locator} locator
 */
async function isInSight(page, locator) {
  const box = await locator.boundingBox();
  const window = page.viewportSize();
  if (box === null || window === null) return false;
  return box.y >= 0 && box.y + box.height <= window.height && box.x + box.width <= window.width;
}
