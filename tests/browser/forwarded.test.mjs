// @ts-check
// A development server in a sandbox, and its page in a browser on this side.
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { after, test } from "node:test";

import { connect } from "sandpipe";
import { forwardPort, startAgent } from "sandpipe/node";

import { launchChromium } from "../support/chromium.mjs";
import { freePort } from "../support/free-port.mjs";
import { temporaryFolder } from "../support/installed-package.mjs";

const vite = join(
  dirname(createRequire(import.meta.url).resolve("vite/package.json")),
  "bin",
  "vite.js",
);

const workspace = await temporaryFolder();
const agent = await startAgent({ args: ["--workspace", workspace] });
const sandbox = await connect(agent);
const browser = await launchChromium();
after(async () => {
  await browser.close();
  sandbox.close();
  await agent.stop();
  await rm(workspace, { recursive: true });
});

test("a page of Vite's development server is shown through a forwarded port, with hot reload", async () => {
  const { files, execs, ports } = sandbox;
  await files.write(
    "app/index.html",
    `<!doctype html><title>app</title><p></p><script type="module" src="/main.js"></script>`,
  );
  await files.write("app/text.js", `export const text = "first";`);
  await files.write(
    "app/main.js",
    `import { text } from "./text.js";
    const show = (text) => (document.querySelector("p").textContent = text);
    show(text);
    import.meta.hot.accept("./text.js", ({ text }) => show(text));`,
  );
  const port = await freePort();
  const args = [vite, "--host", "127.0.0.1", "--port", String(port), "--strictPort"];
  const { id } = await execs.create({ command: process.execPath, args, cwd: "app" });
  await ports.waitFor(port, { exec: id, timeoutMs: 60_000 });
  const forwarded = await forwardPort(sandbox, port, { localPort: 0 });

  const page = await browser.newPage();
  /** @type {string[]} */
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("requestfailed", (request) => problems.push(request.url()));
  const socket = page.waitForEvent("websocket");
  const connected = page.waitForEvent("console", (message) =>
    message.text().includes("[vite] connected"),
  );
  await page.goto(`http://127.0.0.1:${forwarded.port}/`);
  // Not past the forward, to the port of the server itself: here that could be reached, too.
  assert.equal(new URL((await socket).url()).port, String(forwarded.port));
  assert.equal(await page.getByText("first").count(), 1);
  await connected;

  await page.evaluate("document.title = 'not loaded again'");
  await files.write("app/text.js", `export const text = "second";`);
  await page.getByText("second").waitFor();
  assert.equal(await page.title(), "not loaded again");
  assert.deepEqual(problems, []);
  await page.close();
  await forwarded.close();
  await execs.terminate(id);
});
