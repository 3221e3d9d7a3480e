// @ts-check
import { existsSync } from "node:fs";
import { installDebianPackages } from "./debian-packages.mjs";

/** Chromium and its driver, both Debian's: their versions have to match. */
export const chromium = "/usr/bin/chromium";
export const chromedriver = "/usr/bin/chromedriver";

export async function prepareChromium() {
  if (!existsSync(chromium) || !existsSync(chromedriver)) {
    await installDebianPackages(["chromium", "chromium-driver"], "Chromium with its driver");
  }
}
