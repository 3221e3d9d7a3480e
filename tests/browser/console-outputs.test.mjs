// @ts-check
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Relay } from "../support/relay.mjs";
import { connected, ConsoleRig, fillSignIn, run, shows } from "./console.mjs";
import { openTwenty } from "./twenty-outputs.mjs";

const rig = await ConsoleRig.forTests();

const CLIPBOARD = { permissions: ["clipboard-read", "clipboard-write"] };

test("an output goes on after cuts of the connection and repeats nothing", async (t) => {
  const relay = new Relay(rig.agent.url);
  t.after(() => relay.close());
  const url = await relay.listen();
  const page = await rig.open(CLIPBOARD, "", url);
  await fillSignIn(page, url, rig.agent.token);
  await connected(page);
  // It waits at three lines, so that they are still on the screen when they are looked for.
  const stops = [20, 90, 160];
  const go = (/** @type {number} */ number) => join(rig.agent.folder, `go-${number}`);
  const waits = stops.map(
    (number) => `${number}) while [ ! -e '${go(number)}' ]; do sleep 0.05; done`,
  );
  const line = `i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo line $i; case $i in ${waits.join(" ;; ")} ;; esac; sleep 0.01; done`;
  const panel = await run(page, line);
  for (const number of stops) {
    await shows(panel, `line ${number}`);
    relay.breakAll();
    await writeFile(go(number), "");
  }
  await panel.getByText("exit code 0", { exact: true }).waitFor();
  await shows(panel, "line 300");
  assert.ok(relay.broken > 3);
  await panel.getByRole("button", { name: "Copy" }).click();
  await panel.getByText(/^Copied all of it: /).waitFor();
  const expected = Array.from({ length: 300 }, (_, index) => `line ${index + 1}\n`).join("");
  assert.equal(await page.evaluate("navigator.clipboard.readText()"), expected);
  await connected(page);
  await page.context().close();
});

test("twenty outputs are open in one tab, each goes on when it is looked at, and requests still work", async () => {
  const page = await rig.signIn();
  const go = join(rig.agent.folder, "go");
  const show = await openTwenty(
    rig,
    page,
    (number) =>
      `echo up ${number}; while [ ! -e "${go}" ]; do sleep 0.1; done; echo down; exit ${number}`,
  );
  for (let number = 1; number <= 20; number++) await shows(await show(number), `up ${number}`);
  await shows(await run(page, "echo another"), "another");
  await writeFile(go, "");
  for (let number = 1; number <= 20; number++) {
    const pane = await show(number);
    await pane.getByText(`exit code ${number}`, { exact: true }).waitFor();
    assert.equal(await shows(pane, "down"), `up ${number}\ndown`);
  }
  await page.context().close();
});
