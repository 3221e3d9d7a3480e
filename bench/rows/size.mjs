// @ts-check
/** What a page downloads that uses the package, as Vite builds it. */

import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const page = fileURLToPath(new URL("../page/main.js", import.meta.url));

export async function sizeRows() {
  const rolldownOptions = { input: page };
  const built = await build({
    root: fileURLToPath(new URL("../page", import.meta.url)),
    configFile: false,
    logLevel: "error",
    build: { write: false, rolldownOptions },
  });
  const results = "on" in built ? [] : [built].flat();
  const files = results
    .flatMap(({ output }) => output)
    .map((file) => {
      const content = Buffer.from(file.type === "chunk" ? file.code : file.source);
      const gzip = gzipSync(content, { level: 9 }).length;
      // Without the hash of what is in it.
      return { name: file.fileName.replace(/-[^.]*/, ""), bytes: content.length, gzip };
    });
  const lines = files.map(
    ({ name, bytes, gzip }) => `${name}: ${kb(bytes)}, ${kb(gzip)} with gzip.`,
  );
  const total = files.reduce((sum, { gzip }) => sum + gzip, 0);
  return `A page that uses the package downloads ${kb(total)} with gzip:\n\n${lines.join("  \n")}\n`;
}

const kb = (/** @type {number} */ bytes) => `${(bytes / 1000).toFixed(1)} KB`;
