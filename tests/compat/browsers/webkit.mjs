// @ts-check
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../../support/free-port.mjs";

export const xvfb = "/usr/bin/Xvfb";
export const webkitDriver = "/usr/bin/WebKitWebDriver";

/**
 * Opens a page in WebKitGTK by its driver, on a display that nobody sees. Both end with the application.
 *
 * @param {import("../application.mjs").Application} app
 * @param {string} address
 */
export async function openInWebKit(app, address) {
  // It takes a free display, and writes its number to stdout.
  const display = ["-displayfd", "1", "-screen", "0", "1024x768x24", "-nolisten", "tcp"];
  const { address: number } = await app.start(xvfb, display, /^(\d+)\n/m);
  const env = {
    DISPLAY: `:${number}`,
    // There is no GPU, and maybe no right to make user namespaces.
    WEBKIT_DISABLE_COMPOSITING_MODE: "1",
    WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1",
  };
  const driver = `http://127.0.0.1:${await freePort()}`;
  // It says nothing when it listens.
  const running = app.run(webkitDriver, [`--port=${new URL(driver).port}`], { env });
  const ended = running.then(
    () => Promise.reject(new Error(`${webkitDriver} ended`)),
    (error) => Promise.reject(error),
  );
  ended.catch(() => undefined);
  const over = new AbortController();
  await Promise.race([listens(driver, over.signal), ended]).finally(() => over.abort());

  const options = { binary: miniBrowser(), args: ["--automation"] };
  const alwaysMatch = { browserName: "MiniBrowser", "webkitgtk:browserOptions": options };
  const { sessionId } = await post(`${driver}/session`, { capabilities: { alwaysMatch } });
  await post(`${driver}/session/${sessionId}/url`, { url: address });
}

/** The browser that WebKitGTK brings along: `/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser`, say. */
function miniBrowser() {
  for (const architecture of readdirSync("/usr/lib").filter((name) =>
    name.endsWith("-linux-gnu"),
  )) {
    const folder = join("/usr/lib", architecture);
    const version = readdirSync(folder).find((name) => name.startsWith("webkit2gtk-4"));
    if (version !== undefined) return join(folder, version, "MiniBrowser");
  }
  throw new Error("WebKitGTK's MiniBrowser is not there");
}

/**
 * @param {string} address
 * @param {AbortSignal} signal
 */
async function listens(address, signal) {
  while (!signal.aborted) {
    const answer = await fetch(`${address}/status`).catch(() => undefined);
    if (answer?.ok) return;
    await pause(20);
  }
}

/**
 * @param {string} address
 * @param {object} body
 */
async function post(address, body) {
  const answer = await fetch(address, { method: "POST", body: JSON.stringify(body) });
  const { value } = /** @type {{ value: any }} */ (await answer.json());
  if (!answer.ok) throw new Error(`${webkitDriver}: ${value.message ?? JSON.stringify(value)}`);
  return value;
}
