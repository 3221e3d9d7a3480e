// @ts-check
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { root } from "../../scripts/project.mjs";
import { chromium as executablePath } from "../../scripts/setup/debian-packages.mjs";

/** Debian's Chromium, with the flags that the WebAssembly tests run it with, too. */
export async function launchChromium() {
  const capabilities = JSON.parse(await readFile(join(root, "webdriver.json"), "utf8"));
  /** @type {string[]} */
  const args = capabilities["goog:chromeOptions"].args;
  return chromium.launch({ executablePath, args });
}
