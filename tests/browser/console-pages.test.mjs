// @ts-check
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { root } from "../../scripts/project.mjs";
import { until } from "../support/processes.mjs";
import {
  connected,
  ConsoleRig,
  fillSignIn,
  holdTimers,
  rowOf,
  run,
  shown,
  shows,
} from "./console.mjs";

const rig = await ConsoleRig.forTests();

test("commands to copy run at the agent of the page", async () => {
  const page = await rig.signIn();
  const paste = async (/** @type {RegExp} */ text) => {
    const line = await page.getByText(text).innerText();
    const program = join(root, "dist/cli/sandpipe.js");
    await promisify(execFile)("sh", ["-c", `sandpipe() { node -- '${program}' "$@"; }; ${line}`], {
      env: { ...process.env, SANDPIPE_TOKEN: rig.agent.token },
    });
  };
  await paste(/-- uname -a$/);
  await rowOf(page, "uname -a").waitFor();
  await page.getByRole("link", { name: "Background" }).click();
  await paste(/-- npm run dev$/);
  const npm = page.getByRole("listitem").filter({ hasText: "npm run dev" });
  await npm.getByText(/^Failed/).waitFor();
  await npm.hover();
  await npm.getByRole("button", { name: "Remove" }).click();
  await page.getByText("No processes yet").waitFor();
  await page.context().close();
});

test("background processes are started, listed, followed, filtered, terminated and removed", async () => {
  const page = await rig.signIn();
  await page.getByRole("link", { name: "Background" }).click();
  const form = page.getByRole("form", { name: "Start a process" });
  await form.getByLabel("Script").fill("echo one; echo two >&2; exit 3");
  await form.getByLabel("Name").fill("short");
  await form.getByLabel("Directory").fill("/");
  await form.getByRole("button", { name: "Start" }).click();
  const row = (/** @type {string} */ name) => page.getByRole("listitem").filter({ hasText: name });
  await row("short").getByText("Failed 3", { exact: true }).waitFor();

  // It waits at a line, so that all is on the screen when it is looked for.
  const go = join(rig.agent.folder, "go");
  const script = `echo "$PWD"; i=0; while [ $i -lt 15 ]; do i=$((i+1)); echo "line $i"
    [ $i -ne 7 ] || while [ ! -e '${go}' ]; do sleep 0.05; done; done; exec sleep 1007`;
  await form.getByLabel("Script").fill(script);
  await form.getByLabel("Name").fill("long");
  await form.getByLabel("Directory").fill("/usr");
  await form.getByRole("button", { name: "Start" }).click();
  const panel = page.getByRole("region", { name: "Output of long" });
  assert.match(await shows(panel, "line 7"), /^\/usr\nline 1\nline 2\n/);
  await panel.getByRole("searchbox").fill("line .*[05]$");
  await panel.getByRole("button", { name: "Filter" }).click();
  await panel.locator(".xterm-rows").filter({ hasNotText: "line 7" }).waitFor();
  assert.equal(await shows(panel, "line 5"), "line 5");
  await writeFile(go, "");
  assert.equal(await shows(panel, "line 15"), "line 5\nline 10\nline 15");

  await page.getByRole("button", { name: "Terminate: long" }).click();
  await row("long").getByText("Stopped", { exact: true }).waitFor();
  await row("long").getByText("exit code 143").waitFor();
  for (const name of ["long", "short"]) {
    await row(name).hover();
    await page.getByRole("button", { name: `Remove: ${name}` }).click();
    await row(name).waitFor({ state: "detached" });
  }
  await page.context().close();
});

test("a session remembers, gives each run's output and exit code, and can be stopped and closed", async () => {
  const page = await rig.signIn();
  await page.getByRole("link", { name: "Sessions" }).click();
  const create = page.getByRole("form", { name: "Start a session" });
  await create.getByLabel("Directory").fill("/usr");
  await create.getByRole("button", { name: "Start a session" }).click();
  const panel = page.getByRole("region", { name: "Session 1: bash in /usr" });
  const script = panel.getByRole("textbox");
  const items = panel.getByRole("listitem");
  await script.fill("cd bin; X=7");
  await panel.getByRole("button", { name: "Run" }).click();
  await items.nth(0).getByText("exit code 0", { exact: true }).waitFor();
  await script.fill('echo "$PWD"; echo oops >&2; (exit $X)');
  await script.press("Control+Enter");
  await items.nth(1).getByText("exit code 7", { exact: true }).waitFor();
  assert.equal(await items.nth(1).locator(".output .stdout").innerText(), "/usr/bin\n");
  assert.equal(await items.nth(1).locator(".output .stderr").innerText(), "┃ oops\n");

  await script.fill("sleep 1003");
  await script.press("Control+Enter");
  await items.nth(2).getByRole("button", { name: "Stop" }).click();
  await items.nth(2).getByText("Stopped", { exact: true }).waitFor();
  assert.equal(await items.nth(2).getByRole("alert").count(), 0);
  await script.fill("echo $X");
  await script.press("Control+Enter");
  await items.nth(3).getByText("exit code 0", { exact: true }).waitFor();
  assert.equal(await items.nth(3).locator(".output").innerText(), "7\n");

  // Not even Ctrl+C ends it: it is killed, and the session with it.
  await script.fill(`sh -c "trap '' INT TERM; echo deaf; while :; do sleep 0.05; done"`);
  await script.press("Control+Enter");
  await items.nth(4).locator(".output").getByText("deaf").waitFor();
  await items.nth(4).getByRole("button", { name: "Stop" }).click();
  await items.nth(4).getByText("Stopping", { exact: true }).waitFor();
  await items.nth(4).getByRole("button", { name: "Kill now" }).click();
  await items.nth(4).getByText("Stopped", { exact: true }).waitFor();
  await panel.getByRole("button", { name: "Close session" }).click();
  await panel.waitFor({ state: "detached" });
  await page.context().close();
});

test("the token of the address is taken and removed from it", async () => {
  const page = await rig.open({}, `#token=${rig.agent.token}`);
  await connected(page);
  assert.equal(new URL(page.url()).hash, "");
  await page.reload();
  await connected(page);
  await page.context().close();
});

test("a token of the address that the agent does not know is told at its field, and not kept", async () => {
  const page = await rig.open({}, "#/files?token=wrong");
  const alert = page.getByRole("alert");
  await alert.waitFor();
  assert.match(await alert.innerText(), /does not know this token/);
  assert.equal(await page.getByLabel("Token").getAttribute("aria-invalid"), "true");
  assert.equal(await page.evaluate("sessionStorage.length"), 0);
  await page.context().close();
});

/**
 * Holds requests back until they are released.
 *
 * @param {import("./console.mjs").Page} page
 * @param {string} url
 */
async function held(page, url) {
  const events = new EventEmitter();
  const released = once(events, "released");
  const asked = once(events, "asked");
  await page.route(url, async (route) => {
    events.emit("asked");
    await released;
    await route.continue();
  });
  return { asked, release: () => events.emit("released") };
}

test("before the agent has answered, the console has its frame and says nothing of the agent; then nothing moves", async () => {
  for (const view of ["runs", "files", "ports", "background", "sessions"]) {
    const page = await rig.open({ viewport: { width: 412, height: 823 } });
    await page.addInitScript(`
      globalThis.shifts = [];
      new PerformanceObserver((list) => {
        for (const { value } of list.getEntries()) shifts.push(value);
      }).observe({ type: "layout-shift", buffered: true });`);
    const core = await held(page, "**/*.wasm");
    const list = await held(page, "**/stream/execs*");
    await page.goto("about:blank");
    await page.goto(`${rig.agent.url}/#/${view}?token=${rig.agent.token}`);
    const waiting = page.getByRole("heading", { name: "Waiting for the agent…" });
    const head = page.getByRole("status").filter({ hasText: /^Connecting…$/ });
    const saysNothing = async () => {
      await waiting.waitFor();
      await head.waitFor();
      await page.getByRole("link", { name: "Sessions" }).waitFor();
      const text = await page.getByRole("main").innerText();
      assert.doesNotMatch(text, / yet|No |Nobody|Not |Policy/);
    };
    await saysNothing();
    core.release();
    await list.asked;
    await saysNothing();
    list.release();
    await connected(page);
    await waiting.waitFor({ state: "detached" });
    assert.deepEqual(await page.evaluate("shifts"), [], view);
    await page.context().close();
  }
});

test("an agent that is not reached at first is said to be so, with the reason, until it is", async () => {
  const page = await rig.signIn();
  const noAgent = { status: 404, body: "no agent here" };
  await page.route("**/stream/execs*", (route) => route.fulfill(noAgent));
  await page.reload();
  const banner = page.getByRole("region", { name: "Connection" });
  await banner.getByRole("alert").waitFor();
  const text = await banner.innerText();
  assert.match(text, /^The agent can’t be reached\. .*404.* Check that the address is an agent's/);
  await page.getByRole("status").filter({ hasText: "Not connected" }).waitFor();
  // The pause before the next attempt does not end by itself.
  const pauses = await holdTimers(page, [1_000, 2_000, 3_000, 5_000]);
  await pauses.isHeld();
  await page.unroute("**/stream/execs*");
  await banner.getByRole("button", { name: "Try now" }).click();
  await connected(page);
  await page.context().close();
});

test("a page whose core was not loaded is signed in again when it is reloaded", async () => {
  const page = await rig.signIn();
  await page.route("**/*.wasm", (route) => route.abort());
  await page.reload();
  await page.getByRole("alert").filter({ hasText: "Reload the page." }).waitFor();
  await page.unroute("**/*.wasm");
  await page.reload();
  await connected(page);
  await page.context().close();
});

test("a page that was opened by a link with a token is signed in when it is reloaded, also before the agent was reached", async () => {
  const unreached = { "**/*.wasm": "Reload the page.", "**/stream/execs*": "can’t be reached" };
  for (const [url, message] of Object.entries(unreached)) {
    const page = await rig.open();
    await page.route(url, (route) => route.abort());
    await page.goto("about:blank");
    await page.goto(`${rig.agent.url}/#token=${rig.agent.token}`);
    await page.getByRole("alert").filter({ hasText: message }).waitFor();
    await page.unroute(url);
    await page.reload();
    await connected(page);
    await page.context().close();
  }
});

test("another link with a token, opened in the same tab, leaves no token in the address either", async () => {
  const page = await rig.signIn();
  await page.goto(`${rig.agent.url}/#token=${rig.agent.readOnlyToken}`);
  await page.waitForURL(({ hash }) => !hash.includes("token"));
  await connected(page);
  assert.ok(!page.url().includes(rig.agent.readOnlyToken));
  // It is the new one that is used.
  await run(page, "echo never");
  const form = page.getByRole("form", { name: "Run a command" });
  await form.getByRole("alert").filter({ hasText: "read-only" }).waitFor();
  await page.context().close();
});

test("another agent than the page's own is refused with the reason", async () => {
  const page = await rig.open();
  await fillSignIn(page, "http://127.0.0.1:9", rig.agent.token);
  const alert = page.getByRole("alert");
  await alert.waitFor();
  assert.match(await alert.innerText(), /may only talk to the agent that serves it/);
  assert.equal(await page.getByLabel("Agent’s URL").getAttribute("aria-invalid"), "true");
  assert.match(rig.problems.splice(0).join("\n"), /connect-src/);
  await page.context().close();
});

test("a read-only token watches, and what it may not do is said", async () => {
  const page = await rig.open();
  await fillSignIn(page, rig.agent.url, rig.agent.readOnlyToken);
  await connected(page);
  const { execs } = await rig.client();
  await execs.create({ command: "sh", args: ["-c", "echo watched; exec sleep 1004"] });
  await rowOf(page, "echo watched").locator("[data-main]").click();
  const panel = page.getByRole("tabpanel", { name: /echo watched/ });
  await shows(panel, "watched");
  const refused = page.getByRole("alert").filter({ hasText: "the token is read-only" });
  await panel.getByRole("button", { name: "Stop" }).click();
  await refused.first().waitFor();
  await run(page, "echo never");
  await page.getByRole("form", { name: "Run a command" }).getByRole("alert").waitFor();
  await rowOf(page, "echo watched")
    .getByText(/^Running \d+ s$/)
    .waitFor();
  await page.getByRole("link", { name: "Background" }).click();
  await page.getByRole("region", { name: "Processes" }).getByRole("alert").waitFor();
  await page.context().close();
});

test("a page with a scoped token shows the run that it may read, and ends with the token", async () => {
  const { execs, tokens } = await rig.client();
  const script = "echo shown; read x; echo got $x";
  const { id } = await execs.create({ command: "sh", args: ["-c", script], pty: true });
  await execs.create({ command: "sh", args: ["-c", "echo hidden"] });
  const { id: scoped, token } = await tokens.create({ expiresInMs: 600_000, readExecs: [id] });
  const page = await rig.open({}, `#/runs/${id}?token=${token}`);
  await connected(page);
  const panel = page.getByRole("tabpanel", { name: /echo shown/ });
  await shows(panel, "shown");
  assert.equal(await rowOf(page, "echo hidden").count(), 0);
  const refused = page.getByRole("alert").filter({ hasText: "may not start, signal or delete" });
  await panel.getByRole("button", { name: "Stop" }).click();
  await refused.first().waitFor();
  await run(page, "echo never");
  const form = page.getByRole("form", { name: "Run a command" });
  await form.getByRole("alert").filter({ hasText: "may not create commands" }).waitFor();
  for (const [link, told] of /** @type {const} */ ([
    ["Files", "the token may not read files"],
    ["Ports", "the token is scoped"],
  ])) {
    await page.getByRole("link", { name: link }).click();
    await page.getByText(new RegExp(told)).first().waitFor();
  }
  await tokens.revoke(scoped);
  await page.getByText("Signed out by the agent").first().waitFor();
  await page.context().close();
});

test("everything can be done with the keyboard alone", async () => {
  const page = await rig.open();
  const { keyboard } = page;
  /** Goes on by Tab until a control is reached that has a name. @param {RegExp} name */
  const reach = async (name) => {
    for (let presses = 0; presses < 60; presses++) {
      await keyboard.press("Tab");
      const focused = await page.evaluate(
        "((at) => at.getAttribute('aria-label') ?? at.labels?.[0]?.textContent ?? at.textContent)(document.activeElement)",
      );
      if (name.test(String(focused))) return;
    }
    assert.fail(`no Tab reaches ${name}`);
  };
  await reach(/^Agent/);
  await keyboard.press("Control+A");
  await keyboard.type(rig.agent.url);
  await reach(/^Token/);
  await keyboard.type(rig.agent.token);
  await keyboard.press("Enter");
  await connected(page);
  await reach(/^Command/);
  await keyboard.type("seq 500; exec sleep 1005");
  await keyboard.press("Enter");
  const panel = page.getByRole("tabpanel", { name: /seq 500/ });
  await shows(panel, "500");
  await reach(/^Output of/);
  await keyboard.press("Home");
  await until(async () => (await shown(panel)).startsWith("1\n2\n"));
  // The output lets go of Tab.
  await reach(/^All$/);
  await reach(/^Stop: /);
  await keyboard.press("Enter");
  await panel.getByText("Stopped", { exact: true }).waitFor();

  await page.locator("body").press("n");
  await keyboard.type("exit 6");
  await keyboard.press("Enter");
  await rowOf(page, "exit 6").waitFor();
  await rowOf(page, "exit 6").locator("[data-main]").focus();
  await keyboard.press("ArrowDown");
  await until(() =>
    page.evaluate("document.activeElement.closest('.run-row')?.textContent.includes('seq 500')"),
  );
  await keyboard.press("Enter");
  await panel.waitFor();
  // The menu of the row, by the keyboard.
  await reach(/^Actions: /);
  await keyboard.press("Enter");
  await keyboard.press("ArrowDown");
  await until(() => page.evaluate("document.activeElement.textContent === 'Open beside'"));
  await keyboard.press("Escape");
  await until(() => page.evaluate("document.activeElement.ariaLabel?.startsWith('Actions: ')"));
  await rowOf(page, "seq 500").locator("[data-main]").focus();
  await keyboard.press("Delete");
  await rowOf(page, "seq 500").waitFor({ state: "detached" });
  await panel.waitFor({ state: "detached" });
  await page.context().close();
});
