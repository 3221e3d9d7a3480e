// @ts-check
import { test } from "node:test";
import { openSubject, WINDOWS } from "./accessibility.mjs";
import {
  choose,
  connected,
  ConsoleRig,
  fillSignIn,
  GRACE_MS,
  holdTimers,
  rowOf,
  run,
  shows,
  UNDO_MS,
} from "./console.mjs";

for (const [name, window] of Object.entries(WINDOWS)) {
  test(`no view of runs has a finding in a ${name} window`, async (t) => {
    const rig = await ConsoleRig.start();
    t.after(() => rig.stop());
    const subject = await openSubject(rig, window);
    const { page, check } = subject;
    await fillSignIn(page, rig.agent.url, "wrong");
    await page.getByRole("alert").waitFor();
    await check("sign-in");
    await fillSignIn(page, rig.agent.url, rig.agent.token);
    await connected(page);
    await page.getByText("No runs yet").waitFor();
    await check("no runs");
    await checkRuns(subject);
  });
}

/** @param {import("./accessibility.mjs").Subject} subject */
async function checkRuns({ page, isNarrow, check, back }) {
  // Both may be over before a check is.
  const timers = await holdTimers(page, [UNDO_MS, GRACE_MS]);
  const ended = await run(page, "echo out; echo err >&2; exit 3", { cwd: "/" });
  await shows(ended, "err");
  await ended.getByRole("button", { name: "Find" }).click();
  await check("an output and its search");
  await shows(await run(page, "echo up; exec sleep 1006"), "up");
  await run(page, "echo in a terminal; exec sleep 1006", { terminal: true });
  await check("a terminal");
  await back();
  if (!isNarrow) {
    await choose(page, "echo up", "Open beside");
    await page.getByRole("separator", { name: "Divide the outputs" }).waitFor();
  }
  await page.getByRole("searchbox").fill("err");
  await page.getByRole("searchbox").press("Enter");
  await page.getByText("1 of 3 outputs have it near their end").waitFor();
  await check("the list, and what a search found in outputs");
  await page.getByRole("searchbox").fill("");
  await rowOf(page, "echo out").hover();
  await rowOf(page, "echo out").getByRole("button", { name: "Actions" }).click();
  await check("the menu of a run");
  await page.getByRole("menuitem", { name: "Remove" }).click();
  await page.getByRole("status").filter({ hasText: "Removed" }).waitFor();
  await check("a removal that can be undone");
  await timers.letGo();
  await page.getByRole("button", { name: "Keyboard and screen readers" }).click();
  await page.getByRole("dialog").waitFor();
  await check("the help");
  await page.keyboard.press("Escape");
  const stubborn = await run(page, "trap '' TERM; echo stubborn; while :; do sleep 0.1; done");
  await shows(stubborn, "stubborn");
  await stubborn.getByRole("button", { name: "Stop" }).click();
  await stubborn.getByText(/killed in \d+ s/).waitFor();
  await check("a run that is being stopped");
  await stubborn.getByRole("button", { name: "Kill now" }).click();
  await stubborn.getByText("exit code 137").waitFor();
  await page.evaluate("location.hash = '#/runs/none'");
  await page.getByText("This run is not there").waitFor();
  await check("a run that is not there");
  await page.getByRole("button", { name: "Close the tab" }).click();
  if (isNarrow) await page.evaluate("location.hash = '#/runs'");
  await page.getByRole("searchbox").fill("nothing has this");
  await page.getByText(/^No run matches/).waitFor();
  await check("a search without a result");
  await page.getByRole("searchbox").fill("");
  const form = page.getByRole("form", { name: "Run a command" });
  await form.getByLabel("Command").fill("true");
  const options = form.getByRole("button", { name: "Options" });
  if ((await options.getAttribute("aria-expanded")) === "false") await options.click();
  await form.getByLabel("Directory", { exact: true }).fill("/missing");
  await form.getByRole("button", { name: "Run", exact: true }).click();
  await form.getByRole("alert").waitFor();
  await check("the options of a run that is refused");
  await form.getByLabel("Directory", { exact: true }).fill("");
  await form.getByRole("alert").waitFor({ state: "detached" });
  if (isNarrow) return;
  await form.getByRole("button", { name: "Collapse the run bar" }).click();
  await check("the run bar, collapsed");
}
