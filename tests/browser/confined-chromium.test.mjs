// @ts-check
// Playwright and Chromium as commands under policies without the machine's network.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { createSandbox } from "sandpipe/node";

import { root } from "../../scripts/project.mjs";
import { chromium } from "../../scripts/setup/debian-packages.mjs";
import { noBubblewrap } from "../support/bubblewrap.mjs";

const MODULES = join(root, "node_modules");

/** Serves a page and reads in Chromium what its script has made of it. */
const SCRIPT = `
const { createServer } = require("node:http");
const { chromium } = require(process.argv[2]);
const page = "<title>before</title><script>document.title = 6 * 7</script>";
const server = createServer((_, response) => response.end(page)).listen(0, "127.0.0.1", async () => {
  const browser = await chromium.launch({ executablePath: process.argv[3] });
  const tab = await browser.newPage();
  await tab.goto("http://127.0.0.1:" + server.address().port);
  console.log(await tab.title());
  await browser.close();
  server.close();
});`;

describe("Chromium under a policy", { skip: noBubblewrap }, () => {
  for (const [name, policy] of /** @type {const} */ ([
    ["offline", { extends: ["offline"], files: { read: [MODULES] } }],
    [
      "allow",
      { extends: ["workspace"], files: { read: [MODULES] }, network: { allow: ["a.example"] } },
    ],
  ])) {
    it(`shows a page of the sandbox to Playwright under ${name}`, async () => {
      const workspace = mkdtempSync(join(tmpdir(), "sandpipe chromium-"));
      writeFileSync(join(workspace, "page.cjs"), SCRIPT);
      const sandbox = await createSandbox({ workspace, policy });
      try {
        const args = ["page.cjs", join(MODULES, "playwright-core"), chromium];
        const { exitCode, output } = await sandbox.execs.exec(process.execPath, args);
        assert.deepEqual([exitCode, output], [0, "42\n"]);
      } finally {
        await sandbox.stop();
        rmSync(workspace, { recursive: true });
      }
    });
  }
});
