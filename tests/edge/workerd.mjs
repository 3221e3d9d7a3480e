// @ts-check
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { build } from "vite";
import { firstLine } from "../support/first-line.mjs";

/**
 * Bundles a worker as the platforms' tools do: packages by their condition `workerd`, WebAssembly as
 * modules of its own, which the worker imports statically.
 *
 * @param {string} project
 * @param {string} entry
 */
export async function bundleWorker(project, entry) {
  const folder = join(project, "bundle");
  /** @type {import("vite").Plugin} */
  const wasmModules = {
    name: "wasm-modules",
    enforce: "pre",
    async resolveId(source, importer) {
      if (!source.endsWith(".wasm")) return undefined;
      const found = await this.resolve(source, importer, { skipSelf: true });
      if (found === null) return undefined;
      await cp(found.id, join(folder, "sandpipe.wasm"));
      return { id: "./sandpipe.wasm", external: true };
    },
  };
  await build({
    root: project,
    configFile: false,
    logLevel: "error",
    plugins: [wasmModules],
    ssr: { noExternal: true, target: "webworker", resolve: { conditions: ["workerd"] } },
    build: {
      ssr: entry,
      outDir: folder,
      emptyOutDir: false,
      rolldownOptions: { output: { entryFileNames: "worker.js" } },
    },
  });
  return folder;
}

/**
 * Runs Cloudflare's workerd.
 *
 * @param {string} config
 */
export async function startWorkerd(config) {
  /** @type {{ default: string }} */
  const { default: program } = createRequire(import.meta.url)("workerd");
  const child = spawn(program, ["serve", "--control-fd=3", config], {
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  const ended = once(child, "close");
  const control = /** @type {import("node:stream").Readable} */ (child.stdio[3]);
  /** @type {{ port: number }} */
  const { port } = JSON.parse(await firstLine(child, control));
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill();
      await ended;
    },
  };
}
