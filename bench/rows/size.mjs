// @ts-check
/** What a browser downloads. */

import { readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

export async function sizeRows() {
  const wasm = fileURLToPath(import.meta.resolve("sandpipe/sandpipe.wasm"));
  const gzip = gzipSync(readFileSync(wasm), { level: 9 }).length;
  const kb = (/** @type {number} */ bytes) => `${(bytes / 1000).toFixed(1)} KB`;
  return `sandpipe.wasm: ${kb(statSync(wasm).size)}, ${kb(gzip)} with gzip.\n`;
}
