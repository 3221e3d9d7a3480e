// @ts-check
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { defineConfig } from "vite";

const OUT_DIR = fileURLToPath(new URL("dist", import.meta.url));

/**
 * Compresses what was built: the agent has it inside of its program, and serves it so.
 *
 * @returns {import("vite").Plugin}
 */
function compress() {
  return {
    name: "compress",
    apply: "build",
    // After all that is written, also what is copied as it is.
    closeBundle() {
      for (const entry of readdirSync(OUT_DIR, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        const path = join(entry.parentPath, entry.name);
        writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
        rmSync(path);
      }
    },
  };
}

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  // Below whatever prefix the page is served.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // The development server must leave the package's module beside its entry.
  optimizeDeps: { exclude: ["sandpipe"] },
  plugins: [compress()],
  build: {
    outDir: OUT_DIR,
    emptyOutDir: true,
    target: "es2022",
    // The page's policy has no room for data: scripts, styles and fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Vite finds the package's module: the copy of it is never loaded.
    rolldownOptions: { external: /\/inline-wasm\.js$/ },
    // xterm.js is larger than what Vite warns of.
    chunkSizeWarningLimit: 1000,
  },
});
