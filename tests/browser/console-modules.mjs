// @ts-check
/** The console's modules in Node, for what they decide apart from the page. */

import { join } from "node:path";
import { after } from "node:test";
import { createServer } from "vite";
import { root } from "../../scripts/project.mjs";

const server = await createServer({
  root: join(root, "console"),
  logLevel: "error",
  appType: "custom",
  server: { middlewareMode: true, ws: false, watch: null },
});
after(() => server.close());

/** A module of the console's. @param {string} path */
export const load = (path) => server.ssrLoadModule(`/src/${path}`);
