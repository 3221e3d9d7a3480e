// @ts-check
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { builtConsole, consoleSource, dist, root } from "../project.mjs";
import { whenChanged } from "./when-changed.mjs";

/** Builds the browser console: console/dist, which the agent has in it. */
export async function buildConsole() {
  const inputs = [
    ...["index.html", "src", "tsconfig.json", "vite.config.js"].map((name) =>
      join(consoleSource, name),
    ),
    ...[dist, join(root, "package-lock.json"), join(root, "tsconfig.base.json")],
    fileURLToPath(import.meta.url),
  ];
  await whenChanged("console", { inputs, outputs: [builtConsole] }, async () => {
    // Set-up may have installed it only after this file was loaded.
    const { build } = await import("vite");
    await build({ root: consoleSource, logLevel: "warn" });
  });
}
