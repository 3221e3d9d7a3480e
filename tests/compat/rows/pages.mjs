// @ts-check
/** Browsers without a bundler: pages with an import map, and workers. */

import { page, pageScript } from "../page.mjs";

/**
 * @typedef {import("../row.mjs").Row} Row
 * @typedef {import("../application.mjs").Application} Application
 */

const importMap = `<script type="importmap">${JSON.stringify({
  imports: { sandpipe: "./node_modules/sandpipe/browser.js" },
})}</script>`;

const files = {
  "index.html": page("./main.js", importMap),
  "main.js": pageScript,
  // Import maps are not for workers: there the package's address is written out.
  "worker.js": `
    import { connect } from "./node_modules/sandpipe/browser.js";
    import { job } from "./job.mjs";
    addEventListener("message", async ({ data }) => {
      const answer = await job(connect, data).then(
        (found) => ({ found }),
        (error) => ({ error: String(error) }),
      );
      postMessage(answer);
    });
  `,
  "module-worker.html": page("./module-worker.js"),
  "module-worker.js": `
    import { report } from "./in-page.mjs";
    report((agent) => new Promise((resolve, reject) => {
      const worker = new Worker("./worker.js", { type: "module" });
      worker.addEventListener("error", (event) => reject(new Error(event.message)));
      worker.addEventListener("message", ({ data }) =>
        "error" in data ? reject(new Error(data.error)) : resolve(data.found));
      worker.postMessage(agent);
    }));
  `,
  "service-worker.html": page("./service-worker-page.js"),
  "service-worker-page.js": `
    import { report } from "./in-page.mjs";
    report(async (agent) => {
      await navigator.serviceWorker.register("./service-worker.js", { type: "module" });
      const { active } = await navigator.serviceWorker.ready;
      const { port1, port2 } = new MessageChannel();
      active.postMessage(agent, [port2]);
      const { data } = await new Promise((resolve) => (port1.onmessage = resolve));
      if ("error" in data) throw new Error(data.error);
      return data.found;
    });
  `,
  "service-worker.js": `
    import { connect } from "./node_modules/sandpipe/browser.js";
    import { job } from "./job.mjs";
    addEventListener("message", (event) => {
      const work = job(connect, event.data).then(
        (found) => ({ found }),
        (error) => ({ error: String(error) }),
      );
      event.waitUntil(work.then((answer) => event.ports[0].postMessage(answer)));
    });
  `,
};

/**
 * @param {string} name
 * @param {import("../browsers/visits.mjs").Browser} browser
 * @param {readonly string[]} version a program that tells its version, with its arguments
 * @returns {Row}
 */
function browserRow(name, browser, [program = "", ...args]) {
  /** @param {string} path */
  const visit = (path) => async (/** @type {Application} */ app) =>
    app.visit((await app.serve(app.path)) + path, browser);
  return {
    name,
    family: "Browsers, without a bundler",
    ...(browser === "chromium" ? { quick: true } : {}),
    files,
    version: async (app) => {
      const output = await app.run(program, args);
      return `${name} ${/\d+(\.\d+)+/.exec(output)?.[0]}`;
    },
    parts: {
      "a page with an import map": visit("index.html"),
      "module worker": visit("module-worker.html"),
      "service worker": visit("service-worker.html"),
    },
  };
}

/** @type {Row[]} */
export const pageRows = [
  browserRow("Chromium", "chromium", ["/usr/bin/chromium", "--version"]),
  browserRow("Firefox ESR", "firefox", ["/usr/bin/firefox-esr", "--version"]),
  browserRow("WebKitGTK", "webkit", ["dpkg-query", "--show", "webkit2gtk-driver"]),
];
