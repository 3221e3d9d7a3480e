// @ts-check
import { fileURLToPath } from "node:url";
import { firefox } from "playwright-core";

/** Debian's Firefox, by WebDriver BiDi. It has the system's theme, no permissions to give, and no download to look at. */
export function launchFirefox() {
  const executablePath = fileURLToPath(new URL("firefox-bidi.mjs", import.meta.url));
  return firefox.launch({ channel: "moz-firefox", executablePath });
}
