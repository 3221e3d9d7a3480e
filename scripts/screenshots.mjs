// @ts-check
/**
 * `npm run screenshots`: pictures of every view of the console, light and dark, in a wide and in a narrow window, in
 * target/screenshots; those that the documentation shows are put into docs/img.
 */

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  ConsoleRig,
  PICTURE,
  choose,
  connected,
  fileRow,
  fillSignIn,
  rowOf,
  run,
  shows,
} from "../tests/browser/console.mjs";
import { command } from "./command.mjs";
import { root, target } from "./project.mjs";
import { prepareChromium } from "./setup/debian-packages.mjs";

const folder = join(target, "screenshots");
const documentation = join(root, "docs", "img");

/** What the documentation shows, of those in a wide window. */
const DOCUMENTED = new Set([
  "sign-in",
  "runs",
  "split",
  "lost",
  "files",
  "ports",
  "background",
  "sessions",
]);

const WINDOWS = { wide: { width: 1280, height: 800 }, narrow: { width: 360, height: 740 } };

const SOURCE = `import { createServer } from "node:http";

/** Answers each request with its path. */
const server = createServer((request, response) => {
  response.setHeader("content-type", "text/plain; charset=utf-8");
  response.end(\`You asked for \${request.url}\\n\`);
});

server.listen(Number(process.env.PORT ?? 8080), "127.0.0.1");
`;

/** A visit of the console with a camera. */
class Pictures {
  /**
   * @param {ConsoleRig} rig
   * @param {"light" | "dark"} colorScheme
   * @param {keyof typeof WINDOWS} size
   */
  constructor(rig, colorScheme, size) {
    this.rig = rig;
    this.colorScheme = colorScheme;
    this.size = size;
  }

  async takeAll() {
    const { rig, colorScheme } = this;
    const page = await rig.open({ colorScheme, viewport: WINDOWS[this.size] });
    this.page = page;
    await this.take("sign-in");
    await fillSignIn(page, rig.agent.url, rig.agent.token);
    await connected(page);
    await page.getByText("No runs yet").waitFor();
    await this.take("empty");
    await this.#takeRuns(page);
    await this.#takeFiles(page);
    await this.#takePorts(page);
    await this.#takeBackground(page);
    await this.#takeSessions(page);
    await page.context().close();
    await this.#takeWaiting();
    await this.#takeRefusals();
  }

  /** @param {string} view */
  async take(view) {
    const { page } = this;
    if (page === undefined) return;
    // No pointer over a control, no cursor that blinks.
    await page.mouse.move(0, 0);
    const name = `console-${view}-${this.colorScheme}.png`;
    const path = join(folder, `${this.size}-${name}`);
    await page.screenshot({ path, animations: "disabled" });
    if (this.size === "wide" && DOCUMENTED.has(view)) copyFileSync(path, join(documentation, name));
  }

  /** In a narrow window the list is a view of its own. @param {import("playwright-core").Page} page */
  async #back(page) {
    if (this.size === "narrow") {
      await page.getByRole("button", { name: "Back to the list" }).click();
    }
  }

  /** @param {import("playwright-core").Page} page */
  async #takeRuns(page) {
    await run(page, "uname -sm");
    const failing =
      'for name in parser resume retry; do echo "ok   $name"; done; sleep 0.1; echo "FAIL stop: expected 143, got 0" >&2; sleep 0.1; echo "3 passed, 1 failed"; exit 3';
    const tests = await run(page, failing);
    await shows(tests, "1 failed");
    const stopped = await run(page, "npm run watch 2>/dev/null || exec sleep 600");
    await stopped.getByRole("button", { name: "Stop" }).click();
    await stopped.getByText("Stopped", { exact: true }).waitFor();
    await this.#back(page);
    await page.getByRole("button", { name: "Open a shell" }).click();
    const shell = page.getByRole("tabpanel", { name: "Output of bash -i" });
    await shell.locator(".xterm-rows").filter({ hasText: /[$#]/ }).waitFor();
    await page.keyboard.type(
      "PS1='$ '; clear; for n in 31 32 33 34 35 36; do printf '\\e[%sm%s ' $n colour; done; echo; stty size",
    );
    await page.keyboard.press("Enter");
    await shell
      .locator(".xterm-rows")
      .filter({ hasText: /\d+ \d+/ })
      .waitFor();
    await this.take("terminal");
    const line =
      'echo "listening on :8080"; for n in $(seq 40); do echo "GET /items/$n 200 $n ms"; done; exec sleep 600';
    const server = await run(page, line);
    await shows(server, "items/40");
    await this.take("output");
    await this.#back(page);
    await rowOf(page, "listening").hover();
    await rowOf(page, "listening").getByRole("button", { name: "Actions" }).click();
    await this.take("menu");
    await page.keyboard.press("Escape");
    if (this.size === "wide") await page.locator("[role=tab]").nth(1).click();
    await this.take("runs");
    if (this.size === "wide") {
      await choose(page, "listening", "Open beside");
      await shows(server, "items/40");
      await this.take("split");
    }
    await page.getByRole("searchbox").fill("fail");
    await page.getByRole("searchbox").press("Enter");
    await page.getByText(/outputs have it near their end/).waitFor();
    await this.take("search");
    await page.getByRole("searchbox").fill("nothing has this");
    await page.getByText(/^No run matches/).waitFor();
    await this.take("search-empty");
    await page.getByRole("searchbox").fill("");
    await this.#takeStopping(page);
    await page.evaluate("location.hash = '#/runs/0123456789abcdef'");
    await page.getByText("This run is not there").waitFor();
    await this.take("run-missing");
    await page.getByRole("button", { name: "Close the tab" }).click();
    await page.getByRole("link", { name: "Runs" }).click();
    const form = page.getByRole("form", { name: "Run a command" });
    await form.getByRole("button", { name: "Options" }).click();
    await form.getByLabel("Command").fill("npm test");
    await form.getByLabel("Directory", { exact: true }).fill("/missing");
    await form.getByRole("button", { name: "Run", exact: true }).click();
    await form.getByRole("alert").waitFor();
    await this.take("run-refused");
    await form.getByLabel("Command").fill("");
    await form.getByLabel("Directory", { exact: true }).fill("");
    await form.getByRole("button", { name: "Options" }).click();
    await choose(page, "uname", "Remove");
    await this.take("removed");
    await page.getByRole("button", { name: "Keyboard and screen readers" }).click();
    await this.take("help");
    await page.keyboard.press("Escape");
    await this.rig.agent.kill();
    await page.getByRole("alert").filter({ hasText: "Connection lost" }).waitFor();
    await this.take("lost");
    await this.rig.agent.start();
    await connected(page);
    await this.take("restarted");
  }

  /** @param {import("playwright-core").Page} page */
  async #takeStopping(page) {
    const stubborn = await run(page, "trap '' TERM; echo stubborn; while :; do sleep 0.1; done");
    await shows(stubborn, "stubborn");
    await stubborn.getByRole("button", { name: "Stop" }).click();
    await stubborn.getByText("killed in 9 s").waitFor();
    await this.take("stopping");
    await stubborn.getByRole("button", { name: "Kill now" }).click();
    await stubborn.getByText("exit code 137").waitFor();
    await this.#back(page);
  }

  /** @param {import("playwright-core").Page} page */
  async #takeFiles(page) {
    const { files } = await this.rig.client();
    await files.write("site/src/index.ts", SOURCE);
    await files.write("site/src/server.ts", "export {};\n");
    await files.write("site/package.json", '{ "name": "site" }\n');
    await files.write("site/data.bin", new Uint8Array(48_300));
    await files.write("site/dot.png", new Uint8Array(PICTURE));
    await files.write("site/nothing", "");
    await files.mkdir("site/assets");
    execFileSync("mkfifo", [join(this.rig.agent.folder, "site/queue")]);
    await page.getByRole("link", { name: "Files" }).click();
    const row = (/** @type {string} */ name) => fileRow(page, name);
    await row("site").click();
    await row("assets").click();
    await page.getByText("Nothing is in it.").waitFor();
    await row("site").focus();
    if (this.size === "wide") await page.getByText("Drop files or folders here").waitFor();
    await this.take("directory");
    await row("src").click();
    await row("index.ts").click();
    await page.getByRole("group", { name: "Content of index.ts" }).waitFor();
    await this.take("files");
    await this.#backToTree(page);
    await row("data.bin").click();
    await page.getByText("This is not text").waitFor();
    await this.take("binary");
    for (const [name, told] of /** @type {const} */ ([
      ["dot.png", /^changed/],
      ["nothing", "This file is empty."],
      ["queue", "Not a file"],
    ])) {
      await this.#backToTree(page);
      await row(name).click();
      await page.locator(".outputs").getByText(told).first().waitFor();
      if (name === "dot.png") await page.getByRole("img", { name }).waitFor();
      await this.take(`file-${name.replace(".png", "")}`);
    }
    await this.#backToTree(page);
    await page.evaluate("location.hash = '#/files/missing'");
    await page.getByText("This file is not there").waitFor();
    await this.take("file-missing");
    await page.getByRole("button", { name: "Show the workspace" }).click();
    await row("src").click();
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Upload", exact: true }).click();
    const file = (/** @type {string} */ name) => ({
      name,
      mimeType: "text/plain",
      buffer: Buffer.alloc(1_400_000, "x"),
    });
    await (await chooser).setFiles([file("index.ts"), file("schema.json")]);
    await page.getByText("1 of 2 files uploaded").waitFor();
    await this.take("upload");
    await page.getByRole("button", { name: "Skip index.ts" }).click();
    await page.getByRole("button", { name: "Clear" }).click();
    // It does not come to an end by itself.
    await page.route(/offset=[1-9]/, () => undefined);
    const others = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Upload", exact: true }).click();
    const large = { ...file("video.mp4"), buffer: Buffer.alloc(40_000_000) };
    await (await others).setFiles([large, file(`${"long-".repeat(60)}name.txt`)]);
    await page.getByRole("region", { name: "Uploads" }).getByRole("alert").waitFor();
    await page.getByRole("progressbar", { name: "Upload of video.mp4" }).waitFor();
    await this.take("uploading");
    await page.getByRole("button", { name: "Give up video.mp4" }).click();
    await page.getByRole("button", { name: "Clear" }).click();
    await row("assets").hover();
    await row("assets").getByRole("button", { name: "Actions" }).click();
    await this.take("directory-menu");
    await page.getByRole("menuitem", { name: "Remove" }).click();
    await page.getByRole("dialog", { name: "Remove assets?" }).waitFor();
    await this.take("file-removal");
    await page.getByRole("button", { name: "Cancel" }).click();
  }

  /** @param {import("playwright-core").Page} page */
  async #backToTree(page) {
    if (this.size === "narrow") {
      await page.getByRole("button", { name: "Back to the tree" }).click();
    }
  }

  /** @param {import("playwright-core").Page} page */
  async #takePorts(page) {
    const { execs, ports } = await this.rig.client();
    const args = ["-m", "http.server", "--bind", "127.0.0.1", "18080"];
    const { id } = await execs.create({ command: "python3", args });
    await ports.waitFor(18080, { exec: id });
    await page.getByRole("link", { name: "Ports" }).click();
    await page.getByRole("listitem").filter({ hasText: "18080" }).waitFor();
    if (this.size === "narrow") await this.take("ports-list");
    await page.getByRole("listitem").filter({ hasText: "18080" }).getByRole("button").click();
    await page.getByRole("region", { name: "Port 18080" }).getByRole("link").waitFor();
    await this.take("ports");
    await execs.terminate(id);
  }

  /** @param {import("playwright-core").Page} page */
  async #takeBackground(page) {
    await page.getByRole("link", { name: "Background" }).click();
    await page.getByText("No processes yet").waitFor();
    await this.take("background-empty");
    const form = page.getByRole("form", { name: "Start a process" });
    const spawn = async (/** @type {string} */ name, /** @type {string} */ script) => {
      await form.getByLabel("Script").fill(script);
      await form.getByLabel("Name").fill(name);
      await form.getByRole("button", { name: "Start" }).click();
      await page.getByRole("region", { name: `Output of ${name}` }).waitFor();
      if (name !== "dev server") await this.#back(page);
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
    if (this.size === "narrow") await this.take("background-output");
    await this.#back(page);
    await page.getByRole("listitem").filter({ hasText: "build" }).getByText("Failed 2").waitFor();
    await this.take("background");
    const server = page.getByRole("listitem").filter({ hasText: "dev server" });
    await server.hover();
    await server.getByRole("button", { name: "Terminate" }).click();
    await server.getByText("Stopped", { exact: true }).waitFor();
  }

  /** @param {import("playwright-core").Page} page */
  async #takeSessions(page) {
    await page.getByRole("link", { name: "Sessions" }).click();
    await this.take("sessions-empty");
    await page.getByRole("button", { name: "Start a session" }).click();
    const panel = page.getByRole("region", { name: /^Session / });
    const scripts = [
      "cd /usr && export GREETING=hello",
      'echo "$GREETING from $PWD"',
      "ls missing; exit_code=$?; echo still here; (exit $exit_code)",
    ];
    for (const [index, script] of scripts.entries()) {
      await panel.getByRole("textbox").fill(script);
      await page.keyboard.press("Control+Enter");
      await panel
        .getByRole("listitem")
        .nth(index)
        .getByText(/exit code/)
        .waitFor();
    }
    await this.take("sessions");
    await page.getByRole("button", { name: "Start a session" }).click();
    await page.getByRole("group", { name: "Open sessions" }).waitFor();
    await panel.getByRole("textbox").fill("sleep 600");
    await page.keyboard.press("Control+Enter");
    await panel.getByRole("button", { name: "Stop: run 1" }).waitFor();
    await this.take("sessions-two");
  }

  /** What is there before the agent has answered, and while it can't be reached. */
  async #takeWaiting() {
    const { rig, colorScheme } = this;
    const page = await rig.open({ colorScheme, viewport: WINDOWS[this.size] });
    this.page = page;
    await page.route("**/stream/execs*", () => undefined);
    await page.goto("about:blank");
    await page.goto(`${rig.agent.url}/#/runs?token=${rig.agent.token}`);
    await page.getByText("Waiting for the agent…").waitFor();
    await this.take("waiting");
    await page.unroute("**/stream/execs*");
    await page.route("**/stream/execs*", (route) => route.abort());
    await page.reload();
    await page.getByRole("button", { name: "Try now" }).waitFor();
    await this.take("unreachable");
    await page.context().close();
  }

  /** What an agent shows that has nothing, or lets nobody in. */
  async #takeRefusals() {
    const { agent } = this.rig;
    await agent.stop();
    // Its commands have a network of their own, in which nobody listens.
    await agent.start(["--policy", "strict"]);
    const { colorScheme } = this;
    const page = await this.rig.open({ colorScheme, viewport: WINDOWS[this.size] });
    this.page = page;
    await fillSignIn(page, agent.url, "wrong");
    await page.getByRole("alert").waitFor();
    await this.take("sign-in-refused");
    await fillSignIn(page, agent.url, agent.readOnlyToken);
    await connected(page);
    await page.getByRole("link", { name: "Ports" }).click();
    await page.getByText("Nobody listens", { exact: true }).waitFor();
    await this.take("ports-empty");
    await page.getByRole("link", { name: "Files" }).click();
    await page.getByText("This token may not see files").waitFor();
    await this.take("files-refused");
    await agent.stop();
    agent.readOnlyToken = randomBytes(16).toString("hex");
    await agent.start();
    await page.getByRole("button", { name: "Sign in again" }).waitFor();
    await this.take("signed-out");
    await page.context().close();
  }
}

await command(async () => {
  await prepareChromium();
  mkdirSync(folder, { recursive: true });
  mkdirSync(documentation, { recursive: true });
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    for (const size of /** @type {const} */ (["wide", "narrow"])) {
      const rig = await ConsoleRig.start();
      try {
        await new Pictures(rig, colorScheme, size).takeAll();
      } finally {
        await rig.stop();
      }
    }
  }
  return 0;
});
