// @ts-check
/** Vite, its development server and what it builds. */

import { page, pageScript } from "../page.mjs";

/** @typedef {import("../row.mjs").Row} Row */

/**
 * @param {string} version
 * @returns {Row}
 */
function vite(version) {
  return {
    name: `Vite ${version}`,
    family: "Bundlers",
    ...(version === "8" ? { quick: true } : {}),
    install: { vite: version },
    files: { "index.html": page("./main.js"), "main.js": pageScript },
    version: async (app) => `Vite ${await app.version("vite")}`,
    parts: {
      development: async (app) => {
        const args = [app.module("vite/bin/vite.js"), "--host=127.0.0.1"];
        const { address } = await app.start(process.execPath, args, /(http:\/\/[\d.:]+\/)/);
        return app.visit(address);
      },
      build: async (app) => {
        await app.run(process.execPath, [app.module("vite/bin/vite.js"), "build"]);
        return app.visit(await app.serve(await app.elsewhere("dist")));
      },
    },
  };
}

/** @type {Row[]} */
export const viteRows = ["5", "6", "7", "8"].map(vite);
