// @ts-check
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { noBubblewrap } from "../support/bubblewrap.mjs";
import { Relay } from "../support/relay.mjs";
import { until } from "../support/processes.mjs";
import { connected, ConsoleRig, fillSignIn, paneOf, rowOf, run, shown, shows } from "./console.mjs";

const rig = await ConsoleRig.forTests();

const CLIPBOARD = { permissions: ["clipboard-read", "clipboard-write"] };

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
  while (small.rows !== (await onScreen())) small = await size();
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
    (number) => `${number}) while [ ! -e ${go(number)} ]; do sleep 0.05; done`,
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

test("the policy of the agent that is there is shown", { skip: noBubblewrap }, async () => {
  const page = await rig.signIn();
  const badge = page.getByText(/^Policy:/);
  assert.equal(await badge.innerText(), "Policy: open");
  await rig.agent.stop();
  await badge.waitFor({ state: "detached" });
  await rig.agent.start(["--policy", "strict"]);
  await connected(page);
  assert.equal(await badge.innerText(), "Policy: strict");
  await rig.agent.stop();
  await rig.agent.start();
  await connected(page);
  await page.context().close();
});

test("a lost agent is shown, and twenty outputs are there again when it is started anew", async () => {
  const page = await rig.signIn();
  const show = await openTwenty(page, (number) => `echo before ${number}; exec sleep 1002`);
  for (let number = 1; number <= 20; number++) await shows(await show(number), `before ${number}`);
  await rig.agent.stop();
  await page.getByRole("alert").filter({ hasText: "Connection lost" }).waitFor();
  await rig.agent.start();
  await connected(page);
  for (let number = 1; number <= 20; number++) {
    const pane = await show(number);
    // No command outlives its agent: SIGTERM is what it told them.
    await pane.getByText("exit code 143", { exact: true }).waitFor();
    assert.equal(await shows(pane, "before"), `before ${number}`);
  }
  const again = await run(page, "echo after");
  await again.getByText("exit code 0", { exact: true }).waitFor();
  await shows(again, "after");
  // What the browser says of connections that it could not make.
  rig.problems = rig.problems.filter((problem) => !/ERR_CONNECTION_REFUSED/.test(problem));
  await page.context().close();
});

test("a background output goes on where it was when the agent was away", async () => {
  const page = await rig.signIn();
  await page.getByRole("link", { name: "Background" }).click();
  const form = page.getByRole("form", { name: "Start a process" });
  const go = join(rig.agent.folder, "go-on");
  const script = `echo one; while [ ! -e '${go}' ]; do sleep 0.05; done; echo two; sleep 1006`;
  await form.getByLabel("Script").fill(script);
  await form.getByLabel("Name").fill("lasting");
  await form.getByRole("button", { name: "Start" }).click();
  const panel = page.getByRole("region", { name: "Output of lasting" });
  await shows(panel, "one");
  // The script that reads an output, of those that the page runs.
  let unread = 0;
  page.on("requestfailed", (request) => {
    unread += Number(request.postData()?.includes("start_at_tail") === true);
  });
  await rig.agent.stop();
  // One was under way, and one is tried three times: a read has failed then.
  await until(() => unread >= 4);
  await writeFile(go, "");
  await rig.agent.start();
  await connected(page);
  await shows(panel, "two");
  assert.equal(await shown(panel), "one\ntwo");
  assert.equal(await panel.getByRole("alert").count(), 0);
  await page.getByRole("button", { name: "Terminate: lasting" }).click();
  await page
    .getByRole("listitem")
    .filter({ hasText: "lasting" })
    .getByText("Stopped", { exact: true })
    .waitFor();
  rig.problems = rig.problems.filter((problem) => !/ERR_CONNECTION_REFUSED/.test(problem));
  await page.context().close();
});

test("twenty outputs are open in one tab, each goes on when it is looked at, and requests still work", async () => {
  const page = await rig.signIn();
  const go = join(rig.agent.folder, "go");
  const show = await openTwenty(
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

test("an agent that hangs is told from one that is there, in every view, until it goes on", async () => {
  const page = await rig.signIn();
  const pane = await run(page, "echo up; exec sleep 1015");
  await shows(pane, "up");
  const banner = page.getByRole("alert").filter({ hasText: "Connection lost" });
  for (const [view, told] of /** @type {const} */ ([
    ["Runs", /^Not live: what has become of this run since is not known\./],
    ["Files", /^Not live: files may have changed/],
    ["Ports", /^Not live: who listens may have changed/],
    ["Background", undefined],
    ["Sessions", undefined],
  ])) {
    await page.getByRole("link", { name: view }).click();
    await connected(page);
    // What may have changed is what was shown.
    const region = page.getByRole("region", { name: view, exact: true });
    if (told !== undefined) await region.waitFor();
    await region.getByText("Waiting for the agent…").waitFor({ state: "hidden" });
    rig.agent.pause();
    try {
      // Long before a connection would be taken for dead, of which nothing comes.
      await banner.waitFor({ timeout: 30_000 });
      if (told !== undefined) await page.getByText(told).waitFor();
      assert.ok(!/running \d/i.test(await page.locator("body").innerText()), view);
    } finally {
      rig.agent.goOn();
    }
    await connected(page);
    await banner.waitFor({ state: "detached" });
  }
  await page.getByRole("link", { name: "Runs" }).click();
  await pane.getByText(/^Running \d/).waitFor();
  await pane.getByRole("button", { name: "Stop" }).click();
  await pane.getByText("by you: SIGTERM").waitFor();
  await page.context().close();
});

test("who stopped a run, and where it ran, is told after a reload and an agent's restart, too", async () => {
  await rig.agent.stop();
  await rig.agent.start(["--max-wall-time", "1s"]);
  const page = await rig.signIn();
  const long = await run(page, "echo long; exec sleep 1016", { cwd: "/usr" });
  await long.getByText("by the time limit: SIGKILL").waitFor();
  await rig.agent.stop();
  await rig.agent.start();
  await connected(page);
  await page.reload();
  await long.getByText("by the time limit: SIGKILL").waitFor();
  await long.getByText("/usr", { exact: true }).waitFor();
  await long.getByText("policy custom", { exact: true }).waitFor();
  await rowOf(page, "echo long")
    .getByText(/^by the time limit: SIGKILL · custom · took .* ago · \/usr$/)
    .waitFor();
  const ended = await run(page, "echo other; exec sleep 1016");
  await shows(ended, "other");
  await rig.agent.stop();
  await rig.agent.start();
  await ended.getByText("by the agent’s end: SIGTERM").waitFor();
  rig.problems = rig.problems.filter((problem) => !/ERR_CONNECTION_REFUSED/.test(problem));
  await page.context().close();
});

test("100 MB of output leave the page responsive, and can be downloaded whole", async (t) => {
  const page = await rig.signIn();
  await page.evaluate(`new MutationObserver(() => {
    if (document.querySelector(".banner") !== null) globalThis.wasLost = true;
  }).observe(document.body, { childList: true, subtree: true })`);
  const longestDelay = measureDelays();
  const go = join(rig.agent.folder, "go-100-mb");
  const line = `yes 0123456789012345678901234567890123456789012345678 | head -c 100000000; while [ ! -e ${go} ]; do sleep 0.05; done; echo end`;
  const panel = await run(page, line);
  await shows(panel, "0123456789");
  await page.evaluate(
    "globalThis.frames = 0; (function frame() { globalThis.frames++; requestAnimationFrame(frame); })()",
  );
  const frames = () => page.evaluate("globalThis.frames");
  for (let click = 0; click < 5; click++) {
    const before = await frames();
    await panel.getByRole("button", { name: "Find" }).click();
    await panel.getByRole("search").waitFor();
    await panel.getByRole("button", { name: "Find" }).click();
    await panel.getByRole("search").waitFor({ state: "detached" });
    await until(async () => (await frames()) !== before);
  }
  await panel.getByText(/^Running \d/).waitFor();
  await writeFile(go, "");
  // As long as it may take a machine that is busy.
  const timeout = 120_000;
  await panel.getByText("exit code 0", { exact: true }).waitFor({ timeout });
  await panel.locator(".xterm-rows").filter({ hasText: "end" }).waitFor({ timeout });
  const downloading = page.waitForEvent("download", { timeout });
  await panel.getByRole("button", { name: "Download" }).click();
  assert.equal((await stat(await (await downloading).path())).size, 100_000_004);
  // After 1,500 ms without a sign of life, due every 500, an agent is taken for lost, also where it is the machine that stood still.
  const delay = await longestDelay();
  t.diagnostic(`the machine stood still for ${Math.round(delay)} ms at most`);
  if (delay < 500) {
    const wasLost = await page.evaluate("globalThis.wasLost");
    assert.equal(wasLost, undefined, "an agent that is busy is there");
  }
  await page.context().close();
});

/** Measures from now on for how long at most the machine held up a process that does nothing else; gives what tells it, in milliseconds. */
function measureDelays() {
  const source = `
    let last = performance.now();
    let longest = 0;
    setInterval(() => {
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }, 20);
    process.stdin.resume().on("end", () => {
      console.log(longest);
      process.exit();
    });`;
  const child = spawn(process.execPath, ["--eval", source], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  return async () => {
    child.stdin.end();
    return Number(await text(child.stdout));
  };
}

/**
 * Starts twenty commands and opens their outputs; gives what shows one of them.
 *
 * @param {import("playwright-core").Page} page
 * @param {(number: number) => string} script
 */
async function openTwenty(page, script) {
  const { execs } = await rig.client();
  /** @type {string[]} */
  const ids = [];
  for (let number = 1; number <= 20; number++) {
    const { id } = await execs.create({ command: "sh", args: ["-c", script(number)] });
    ids.push(id);
    await page.locator(`[data-run="${id}"] [data-main]`).click();
    await page.locator(`[data-tab="${id}"]`).waitFor();
  }
  return async (/** @type {number} */ number) => {
    await page.locator(`[data-tab="${ids[number - 1]}"]`).click();
    return paneOf(page, script(number));
  };
}

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
