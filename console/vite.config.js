// @ts-check
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  // Below whatever prefix the page is served.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // The development server must leave the package's module beside its entry.
  optimizeDeps: { exclude: ["sandpipe"] },
  build: {
    outDir: "dist",
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
