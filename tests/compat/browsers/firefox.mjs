// @ts-check
import { join } from "node:path";
import { writeFile, mkdir } from "node:fs/promises";

export const firefox = "/usr/bin/firefox-esr";

/** What a first start would ask and fetch. */
const PREFERENCES = {
  "app.normandy.enabled": false,
  "app.update.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "services.settings.server": "data:,",
  "toolkit.telemetry.reportingpolicy.firstRun": false,
  "trailhead.firstrun.didSeeAboutWelcome": true,
  "browser.aboutwelcome.enabled": false,
  "startup.homepage_welcome_url": "about:blank",
};

/**
 * Opens a page in Debian's Firefox, in a profile of its own. It ends with the application.
 *
 * @param {import("../application.mjs").Application} app
 * @param {string} address
 */
export async function openInFirefox(app, address) {
  const profile = join(app.folder, "firefox");
  await mkdir(profile, { recursive: true });
  const lines = Object.entries(PREFERENCES).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
  );
  await writeFile(join(profile, "user.js"), lines.join(""));
  const args = ["--headless", "--no-remote", "--new-instance", "--profile", profile, address];
  await app.start(firefox, args, /headless mode/);
}
