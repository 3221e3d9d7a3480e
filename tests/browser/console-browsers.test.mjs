// @ts-check
/** What a user does first, in each browser. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { launchChromium } from "../support/chromium.mjs";
import { launchFirefox } from "../support/firefox.mjs";
import { until } from "../support/processes.mjs";
import {
  ConsoleRig,
  countsDown,
  GRACE_MS,
  holdTimers,
  paneOf,
  rowOf,
  run,
  shown,
  shows,
} from "./console.mjs";

for (const [browser, launch] of Object.entries({
  Chromium: launchChromium,
  Firefox: launchFirefox,
})) {
  const rig = await ConsoleRig.forTests(launch);

  test(`a command is run, and says what became of it, in ${browser}`, async () => {
    const page = await rig.signIn();
    const pane = await run(page, "echo out; echo err >&2; exit 3");
    await pane.getByText("Failed 3", { exact: true }).waitFor();
    await rowOf(page, "echo out").getByText("Failed 3", { exact: true }).waitFor();
    await shows(pane, "err");
    assert.deepEqual((await shown(pane)).split("\n").sort(), ["out", "┃ err"]);
    await page.context().close();
  });

  test(`a command is followed while it runs, in ${browser}`, async () => {
    const page = await rig.signIn();
    const go = join(rig.agent.folder, `go-${browser}`);
    const wait = `while [ ! -e '${go}' ]; do sleep 0.05; done`;
    const pane = await run(page, `echo one; ${wait}; echo two`);
    await shows(pane, "one");
    await pane.getByText(/^Running \d+ s$/).waitFor();
    assert.equal(await shown(pane), "one");
    await writeFile(go, "");
    await shows(pane, "two");
    await pane.getByText("Succeeded", { exact: true }).waitFor();
    assert.equal(await shown(pane), "one\ntwo");
    await page.context().close();
  });

  test(`a text is found in an output, and a run by its command, in ${browser}`, async () => {
    const page = await rig.signIn();
    const pane = await run(page, "seq 300");
    await shows(pane, "300");
    await pane.getByRole("button", { name: "Find" }).click();
    const search = pane.getByRole("search");
    await search.getByRole("searchbox").fill("nowhere");
    await search.getByText("Not found").waitFor();
    await search.getByRole("searchbox").fill("117");
    await until(async () => (await shown(pane)).split("\n").includes("117"));
    await page.getByRole("searchbox", { name: "Search commands" }).fill("SEQ 300");
    await rowOf(page, "seq 300").waitFor();
    await page.getByText(/^1 of \d+ runs/).waitFor();
    await page.context().close();
  });

  test(`a command is stopped, with a countdown to the kill, in ${browser}`, async () => {
    const page = await rig.signIn();
    const go = join(rig.agent.folder, `go-end-${browser}`);
    const wait = `while [ ! -e "${go}" ]; do sleep 0.05; done`;
    const line = `trap '${wait}; echo bye; exit 4' TERM; echo up; while :; do sleep 0.05; done`;
    const pane = await run(page, line);
    await shows(pane, "up");
    // It is not killed, however long this takes.
    const timers = await holdTimers(page, [GRACE_MS]);
    await pane.getByRole("button", { name: "Stop" }).click();
    await countsDown(pane);
    await timers.isHeld();
    await writeFile(go, "");
    await pane.getByText("by you: exit code 4").waitFor();
    await shows(pane, "bye");
    await page.context().close();
  });

  test(`a command that does not stop is killed now, in ${browser}`, async () => {
    const page = await rig.signIn();
    // Its time does not run out: nothing but the second press kills it.
    const timers = await holdTimers(page, [GRACE_MS]);
    const line = "trap '' TERM; echo stubborn; while :; do sleep 0.1; done";
    await shows(await run(page, line), "stubborn");
    const pane = paneOf(page, line);
    await pane.getByRole("button", { name: "Stop" }).click();
    await pane.getByText("Stopping", { exact: true }).waitFor();
    await timers.isHeld();
    await pane.getByRole("button", { name: "Kill now" }).click();
    await pane.getByText("by you, by force: SIGKILL").waitFor();
    assert.equal(await shown(pane), "stubborn");
    await rowOf(page, "stubborn").getByText("Stopped", { exact: true }).waitFor();
    await page.context().close();
  });
}
