// @ts-check
/** Where things are in this checkout. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** What cargo builds, and what the build remembers about its last run. */
export const target = join(root, "target");

/** The bindings that wasm-bindgen generates for the core; js/ imports them. */
export const bindings = join(root, "js", "core");

/** The npm package, ready for `npm pack`. */
export const dist = join(root, "dist");

/** The browser console, as it is written, and as Vite builds it. */
export const consoleSource = join(root, "console");
export const builtConsole = join(consoleSource, "dist");

/** The agent, as the build leaves it. */
export const agent = join(target, "release", "sandpipe-agent");
