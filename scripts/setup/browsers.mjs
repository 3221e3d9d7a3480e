// @ts-check
import { existsSync } from "node:fs";
import { prepareChromium } from "./chromium.mjs";
import { installDebianPackages } from "./debian-packages.mjs";

/** The browsers beside Chromium, with a display that nobody sees, and Debian's packages that have them. */
const PROGRAMS = new Map([
  ["/usr/bin/firefox-esr", "firefox-esr"],
  ["/usr/bin/WebKitWebDriver", "webkit2gtk-driver"],
  ["/usr/bin/Xvfb", "xvfb"],
]);

/** Installs what is missing of what `npm run compat` opens pages in. */
export async function prepareBrowsers() {
  await prepareChromium();
  const missing = [...PROGRAMS].flatMap(([path, name]) => (existsSync(path) ? [] : [name]));
  if (missing.length > 0) await installDebianPackages(missing, missing.join(", "));
}
