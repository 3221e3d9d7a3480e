// @ts-check
/* global document */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { until } from "../support/processes.mjs";
import {
  connected,
  ConsoleRig,
  countsDown,
  fillSignIn,
  GRACE_MS,
  holdTimers,
  rowOf,
  run,
  shown,
  shows,
} from "./console.mjs";

const rig = await ConsoleRig.forTests();

/** @param {Uint8Array | string} content */
const sha256 = (content) => createHash("sha256").update(content).digest("hex");

test("a wrong token is told at its field, the right one lets in and stays for the tab", async () => {
  const page = await rig.open();
  await fillSignIn(page, rig.agent.url, "wrong");
  await page.getByRole("alert").filter({ hasText: "does not know this token" }).waitFor();
  const token = page.getByLabel("Token");
  assert.equal(await token.getAttribute("aria-invalid"), "true");
  const remark = await token.getAttribute("aria-describedby");
  assert.match(await page.locator(`#${remark}`).innerText(), /does not know this token/);

  await fillSignIn(page, rig.agent.url, rig.agent.token);
  await connected(page);
  assert.ok(!page.url().includes(rig.agent.token));
  await page.reload();
  await connected(page);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  await page.reload();
  assert.equal(await page.getByLabel("Token").inputValue(), "");
  assert.equal(await page.evaluate("sessionStorage.length + localStorage.length"), 0);
  await page.context().close();
});

test("runs a command and shows stdout, stderr and its exit code", async () => {
  const page = await rig.signIn();
  const line = 'echo "$GREETING" from "$PWD"; echo oops >&2; echo two >&2; echo out; exit 3';
  const panel = await run(page, line, { cwd: "/", env: "GREETING=hello" });
  await panel.getByText("exit code 3", { exact: true }).waitFor();
  // Two pipes: how their lines are mixed is the kernel's to say.
  const onScreen = async () => (await shown(panel)).split("\n");
  await until(async () => (await onScreen()).length === 4);
  const lines = await onScreen();
  assert.deepEqual(
    lines.filter((line) => line.startsWith("┃ ")),
    ["┃ oops", "┃ two"],
  );
  assert.deepEqual(
    lines.filter((line) => !line.startsWith("┃ ")),
    ["hello from /", "out"],
  );
  assert.equal(await panel.locator(".xterm-rows .xterm-fg-1").first().innerText(), "┃ oops");
  const row = rowOf(page, line);
  await row.getByText("Failed 3", { exact: true }).waitFor();
  await row.getByText(/^took \d\.\d s · (now|\d+ s ago) · \/$/).waitFor();
  await panel.getByText(/^pid \d+$/).waitFor();

  const streams = panel.getByRole("group", { name: "Streams" });
  await streams.getByRole("button", { name: "stderr" }).click();
  await panel.locator(".xterm-rows").filter({ hasNotText: "hello" }).waitFor();
  assert.equal(await shows(panel, "two"), "┃ oops\n┃ two");
  await streams.getByRole("button", { name: "stdout" }).click();
  assert.equal(await shows(panel, "out"), "hello from /\nout");

  const downloading = page.waitForEvent("download");
  await panel.getByRole("button", { name: "Download" }).click();
  const file = await (await downloading).path();
  const { id } = (await (await rig.client()).execs.list())[0] ?? assert.fail("no exec");
  const { output } = await (await rig.client()).execs.getOutput(id);
  assert.equal(output.length, "hello from /\noops\ntwo\nout\n".length);
  assert.equal(await readFile(file, "utf8"), output);
  await page.context().close();
});

test("downloads bytes as they were written, and text from an agent without frames", async () => {
  const page = await rig.signIn();
  const program = await readFile(process.execPath);
  const bytes = program.subarray(0, 20_000_000);
  const panel = await run(page, `head -c ${bytes.length} '${process.execPath}'`);
  await panel.getByText("exit code 0", { exact: true }).waitFor();
  const download = async () => {
    const downloading = page.waitForEvent("download");
    await panel.getByRole("button", { name: "Download" }).click();
    const downloaded = await downloading;
    assert.match(downloaded.suggestedFilename(), /^[0-9a-f-]+\.txt$/);
    return sha256(await readFile(await downloaded.path()));
  };
  assert.equal(await download(), sha256(bytes));

  await page.route(/\/io\b/, (route) => {
    const { accept = "", ...headers } = route.request().headers();
    const text = accept.replace("application/vnd.sandpipe.output, ", "");
    return route.continue({ headers: { ...headers, accept: text } });
  });
  assert.equal(await download(), sha256(new TextDecoder().decode(bytes)));
  await page.context().close();
});

test("finds text in an output and copies it without the marks", async () => {
  const page = await rig.signIn({ permissions: ["clipboard-read", "clipboard-write"] });
  const panel = await run(page, "echo first >&2; echo second >&2");
  await shows(panel, "second");
  await panel.getByRole("button", { name: "Copy" }).click();
  await panel.getByText("Copied all of it: 13 characters.").waitFor();
  assert.equal(await page.evaluate("navigator.clipboard.readText()"), "first\nsecond\n");

  const focused = await panel.getByRole("button", { name: "Find" }).evaluate(async (button) => {
    /** @type {HTMLElement} */ (button).click();
    // A frame later the keyboard may have been turned to another field.
    for (let microtask = 0; microtask < 10; microtask++) await undefined;
    return document.activeElement?.getAttribute("type");
  });
  assert.equal(focused, "search");
  const search = panel.getByRole("search");
  await search.getByRole("searchbox").fill("nowhere");
  await search.getByText("Not found").waitFor();
  await search.getByRole("searchbox").fill("SECOND");
  await search.getByText("Not found").waitFor({ state: "hidden" });
  await search.getByRole("searchbox").press("Enter");
  await panel.getByRole("button", { name: "Copy" }).click();
  await until(async () => (await page.evaluate("navigator.clipboard.readText()")) === "second");
  await search.getByRole("searchbox").press("Escape");
  await search.waitFor({ state: "detached" });
  await until(() => page.evaluate("document.activeElement.ariaLabel === 'Find'"));
  await page.context().close();
});

test("the page's policy lets a terminal have all colours that can be read", async () => {
  const page = await rig.signIn();
  const panel = await run(page, "printf '\\033[38;2;1;2;3mtrue\\033[38;5;160mindexed\\n'");
  await shows(panel, "indexed");
  const colour = (/** @type {string} */ text) =>
    panel
      .locator(".xterm-rows span", { hasText: text })
      .evaluate((span) => span.ownerDocument.defaultView?.getComputedStyle(span).color);
  assert.equal(await colour("true"), "rgb(1, 2, 3)");
  assert.equal(await colour("indexed"), "rgb(215, 0, 0)");
  await page.context().close();
});

test("the list is live and is filtered by text and by what became of a command", async () => {
  const page = await rig.signIn();
  const { execs } = await rig.client();
  const row = (/** @type {string} */ text) => rowOf(page, text);
  const sleeping = await execs.create({ command: "sleep", args: ["1001"] });
  await execs.exec("sh", ["-c", "exit 9"]);
  await row("sleep 1001")
    .getByText(/^Running \d+ s$/)
    .waitFor();
  await row("exit 9").getByText("Failed 9", { exact: true }).waitFor();

  const list = page.getByRole("region", { name: "Runs" });
  await list.getByRole("searchbox").fill("SLEEP 1001");
  await row("exit 9").waitFor({ state: "detached" });
  await row("sleep 1001").waitFor();
  await list.getByRole("searchbox").fill("");
  await list.getByRole("button", { name: "Failed", exact: true }).click();
  await row("sleep 1001").waitFor({ state: "detached" });
  await row("exit 9").waitFor();
  await list.getByRole("button", { name: "Running", exact: true }).click();
  await row("exit 9").waitFor({ state: "detached" });
  await execs.terminate(sleeping.id);
  await row("sleep 1001").waitFor({ state: "detached" });
  await page.context().close();
});

test("stops a command gracefully, and by force at the second press", async () => {
  const page = await rig.signIn();
  const gentle = await run(
    page,
    "trap 'echo bye; exit 4' TERM; echo up; while :; do sleep 0.05; done",
  );
  await shows(gentle, "up");
  await gentle.getByRole("button", { name: "Stop" }).click();
  await gentle.getByText("by you: exit code 4").waitFor();
  await gentle.getByText("Stopped", { exact: true }).waitFor();
  assert.match(await shows(gentle, "bye"), /^up\n/);

  // It ignores SIGTERM, and its time does not run out: nothing but the second press kills it.
  const timers = await holdTimers(page, [GRACE_MS]);
  const line = "trap '' TERM; echo up; while :; do sleep 0.1; done";
  const stubborn = await run(page, line);
  await shows(stubborn, "up");
  await stubborn.getByRole("button", { name: "Stop" }).click();
  await stubborn.getByText("Stopping", { exact: true }).waitFor();
  await countsDown(stubborn);
  await timers.isHeld();
  // The row knows of it, too.
  const row = rowOf(page, "trap '' TERM");
  await row.getByText(/killed in \d+ s/).waitFor();
  await row.getByRole("button", { name: "Kill now" }).click();
  await stubborn.getByText("by you, by force: SIGKILL").waitFor();
  await stubborn.getByText("exit code 137", { exact: true }).waitFor();
  assert.equal(await shown(stubborn), "up");
  await page.context().close();
});
