// @ts-check
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
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
    await build({ root: consoleSource, logLevel: "warn" });
  });
}
