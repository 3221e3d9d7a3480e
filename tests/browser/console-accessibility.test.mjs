// @ts-check
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { isSandpipeError } from "sandpipe";
import { noBubblewrap } from "../support/bubblewrap.mjs";
import { Relay } from "../support/relay.mjs";
import {
  ConsoleRig,
  GRACE_MS,
  PICTURE,
  UNDO_MS,
  choose,
  connected,
  fileRow,
  fillSignIn,
  holdTimers,
  rowOf,
  run,
  shows,
} from "./console.mjs";

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
      await checkFiles(page, isNarrow);
      await checkPorts(page, isNarrow);
      await checkOthers(page, back);
      await checkLoss(page);
    } finally {
      // The next one begins with an empty list.
      await page.context().close();
      const { execs } = await rig.client();
      for (const { id } of await execs.list()) {
        await execs.delete(id).catch((error) => {
          // The page, which removes what could be brought back until it closes, was first.
          if (!isSandpipeError(error, "http") || error.status !== 404) throw error;
        });
      }
    }
  });
}

/**
 * @param {import("playwright-core").Page} page
 * @param {boolean} isNarrow
 * @param {() => Promise<void>} back
 */
async function checkRuns(page, isNarrow, back) {
  // Both may be over before a check is.
  const timers = await holdTimers(page, [UNDO_MS, GRACE_MS]);
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
  await timers.letGo();
  await page.getByRole("button", { name: "Keyboard and screen readers" }).click();
  await page.getByRole("dialog").waitFor();
  await check(page, "the help");
  await page.keyboard.press("Escape");
  const stubborn = await run(page, "trap '' TERM; echo stubborn; while :; do sleep 0.1; done");
  await shows(stubborn, "stubborn");
  await stubborn.getByRole("button", { name: "Stop" }).click();
  await stubborn.getByText(/killed in \d+ s/).waitFor();
  await check(page, "a run that is being stopped");
  await stubborn.getByRole("button", { name: "Kill now" }).click();
  await stubborn.getByText("exit code 137").waitFor();
  await page.evaluate("location.hash = '#/runs/none'");
  await page.getByText("This run is not there").waitFor();
  await check(page, "a run that is not there");
  await page.getByRole("button", { name: "Close the tab" }).click();
  if (isNarrow) await page.evaluate("location.hash = '#/runs'");
  await page.getByRole("searchbox").fill("nothing has this");
  await page.getByText(/^No run matches/).waitFor();
  await check(page, "a search without a result");
  await page.getByRole("searchbox").fill("");
  const form = page.getByRole("form", { name: "Run a command" });
  await form.getByLabel("Command").fill("true");
  const options = form.getByRole("button", { name: "Options" });
  if ((await options.getAttribute("aria-expanded")) === "false") await options.click();
  await form.getByLabel("Directory", { exact: true }).fill("/missing");
  await form.getByRole("button", { name: "Run", exact: true }).click();
  await form.getByRole("alert").waitFor();
  await check(page, "the options of a run that is refused");
  await form.getByLabel("Directory", { exact: true }).fill("");
  await form.getByRole("alert").waitFor({ state: "detached" });
  if (isNarrow) return;
  await form.getByRole("button", { name: "Collapse the run bar" }).click();
  await check(page, "the run bar, collapsed");
}

/** What every page shows when the connection is lost. @param {import("playwright-core").Page} page */
async function checkLoss(page) {
  await page.context().setOffline(true);
  relay.breakAll();
  await page.getByRole("alert").filter({ hasText: "Connection lost" }).waitFor();
  for (const name of ["Sessions", "Background", "Ports", "Files", "Runs"]) {
    await page.getByRole("link", { name }).click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
    await check(page, `a lost connection: ${name}`);
  }
}

/**
 * @param {import("playwright-core").Page} page
 * @param {boolean} isNarrow
 */
async function checkFiles(page, isNarrow) {
  const folder = join(rig.agent.folder, "axe");
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, "inner"), { recursive: true });
  await writeFile(join(folder, "text"), "text\n".repeat(200));
  await writeFile(join(folder, "long"), "text\n".repeat(60_000));
  await writeFile(join(folder, "binary"), new Uint8Array(100));
  await writeFile(join(folder, "nothing"), "");
  await writeFile(join(folder, "picture"), PICTURE);
  await writeFile(join(folder, "large picture"), Buffer.concat([PICTURE, Buffer.alloc(9_000_000)]));
  await writeFile(Buffer.from(join(folder, "not UTF-8: \xff"), "latin1"), "text");
  execFileSync("mkfifo", [join(folder, "fifo")]);
  await page.getByRole("link", { name: "Files" }).click();
  const row = (/** @type {string} */ name) => fileRow(page, name);
  await row("axe").click();
  await row("text").waitFor();
  await check(page, "a directory");
  const back = () => isNarrow && page.getByRole("button", { name: "Back to the tree" }).click();
  for (const [name, shown] of [
    ["text", "text"],
    ["long", "are shown. Download has all of it."],
    ["binary", "This is not text"],
    ["nothing", "This file is empty."],
    ["picture", "changed"],
    ["large picture", "Too large to be shown"],
    ["not UTF-8: \ufffd", "its path is not UTF-8"],
    ["fifo", "Not a file"],
  ]) {
    await row(String(name)).click();
    const pane = page.getByRole("region", { name: new RegExp(`^File .*/${name}$`) });
    await pane.getByText(String(shown)).first().waitFor();
    await pane.getByText("Reading…").waitFor({ state: "detached" });
    const download = pane.getByRole("button", { name: "Download", exact: true });
    assert.equal(await download.count(), name === "fifo" ? 0 : 1, name);
    await check(page, `a file: ${name}`);
    await back();
  }
  const region = page.getByRole("region", { name: "Files" });
  await region.getByRole("button", { name: "New folder" }).click();
  const chooser = page.waitForEvent("filechooser");
  await region.getByRole("button", { name: "Upload" }).click();
  const file = (/** @type {string} */ name) => ({
    name,
    mimeType: "text/plain",
    buffer: Buffer.from(name),
  });
  await (await chooser).setFiles([file("text"), file("other")]);
  await page.getByText("1 of 2 files uploaded").waitFor();
  await check(page, "an upload, and the name of a new folder");
  await page.getByRole("button", { name: "Skip text" }).click();
  // It does not come to an end by itself.
  await page.route(/offset=[1-9]/, () => undefined);
  const others = page.waitForEvent("filechooser");
  await region.getByRole("button", { name: "Upload" }).click();
  const large = { ...file("under way"), buffer: Buffer.alloc(20_000_000) };
  await (await others).setFiles([large, file("n".repeat(300))]);
  await page.getByRole("progressbar", { name: "Upload of under way" }).waitFor();
  await page.getByRole("region", { name: "Uploads" }).getByRole("alert").waitFor();
  await check(page, "an upload under way, and one that was refused");
  await page.getByRole("button", { name: "Give up under way" }).click();
  await page.getByRole("button", { name: "Clear" }).click();
  await row("inner").click();
  await page.getByText("Nothing is in it.").waitFor();
  await row("inner").hover();
  await row("inner").getByRole("button", { name: "Actions" }).click();
  await check(page, "the menu of a directory");
  await page.keyboard.press("Escape");
  await row("text").hover();
  await row("text").getByRole("button", { name: "Actions" }).click();
  await check(page, "the menu of a file");
  await page.keyboard.press("Escape");
  await row("long").focus();
  await page.keyboard.press("Delete");
  await page.getByRole("dialog", { name: "Remove long?" }).waitFor();
  await check(page, "a removal that is asked for");
  await page.keyboard.press("Escape");
  await page.evaluate("location.hash = '#/files/nowhere'");
  await page.getByText("This file is not there").waitFor();
  await check(page, "a file that is not there");
  await page.getByRole("button", { name: "Show the workspace" }).click();
  await rm(folder, { recursive: true });
}

/**
 * @param {import("playwright-core").Page} page
 * @param {boolean} isNarrow
 */
async function checkPorts(page, isNarrow) {
  const { execs } = await rig.client();
  const script = "python3 -u -m http.server 0 --bind 127.0.0.1";
  const { id } = await execs.create({ command: "sh", args: ["-c", script] });
  const { match } = await execs.waitForOutput(id, /port (\d+)/);
  const port = String(match[1]);
  await page.getByRole("link", { name: "Ports" }).click();
  await page.getByRole("list", { name: "Ports" }).getByText(port, { exact: true }).waitFor();
  await check(page, "the ports");
  await page.getByRole("list", { name: "Ports" }).getByText(port, { exact: true }).click();
  await page
    .getByRole("region", { name: `Port ${port}` })
    .getByRole("link")
    .waitFor();
  await check(page, "a port");
  await execs.terminate(id);
  await page.getByText("Nobody listens there").waitFor();
  await check(page, "a port that nobody listens on");
  if (!isNarrow) await page.getByRole("button", { name: "Show all ports" }).click();
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
  await page.getByRole("button", { name: "Start a session" }).click();
  await page.getByRole("group", { name: "Open sessions" }).waitFor();
  await script.fill("sleep 1006");
  await script.press("Control+Enter");
  const stop = page.getByRole("button", { name: "Stop: run 1" });
  await stop.waitFor();
  await check(page, "one of two sessions, and a run in it");
  await stop.click();
  await stop.waitFor({ state: "detached" });
}

test(
  "no view has a finding where an agent shows nothing, or nothing any more",
  { skip: noBubblewrap },
  async () => {
    await rig.agent.stop();
    // Its commands have a network of their own, in which nobody listens.
    await rig.agent.start(["--policy", "strict"]);
    for (const [name, options] of Object.entries(WINDOWS)) {
      const page = await rig.open(options);
      await page.route("**/stream/execs*", () => undefined);
      await page.goto("about:blank");
      await page.goto(`${rig.agent.url}/#/ports?token=${rig.agent.readOnlyToken}`);
      await page.getByText("Waiting for the agent…").waitFor();
      await check(page, `the agent has not answered: ${name}`);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.unroute("**/stream/execs*");
      await fillSignIn(page, rig.agent.url, rig.agent.readOnlyToken);
      await connected(page);
      await page.getByRole("link", { name: "Ports" }).click();
      await page.getByText("Nobody listens", { exact: true }).waitFor();
      await check(page, `no ports: ${name}`);
      await page.getByRole("link", { name: "Files" }).click();
      await page.getByText("This token may not see files").waitFor();
      await check(page, `no files: ${name}`);
      // It has other tokens then.
      await rig.agent.stop();
      rig.agent.readOnlyToken = randomBytes(16).toString("hex");
      await rig.agent.start(["--policy", "strict"]);
      await page.getByRole("button", { name: "Sign in again" }).waitFor();
      await page.getByText("This token may not see files").waitFor();
      await check(page, `refused: ${name}`);
      await page.context().close();
    }
  },
);

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
