// @ts-check
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../project.mjs";

const LICENSES = "mcp/third-party-licenses.txt";

/**
 * Puts what `sandpipe mcp` needs of other packages into its own file, so that nobody installs them, and their
 * licenses beside it.
 *
 * @param {string} folder the package, compiled
 */
export async function bundleMcpServer(folder) {
  // Set-up may have installed it only after this file was loaded.
  const { rolldown } = await import("rolldown");
  const input = join(folder, "mcp", "serve.js");
  const bundle = await rolldown({ input, platform: "node", cwd: root });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  await bundle.close();
  const [chunk, ...others] = output;
  if (others.length > 0) throw new Error("the MCP server is to be one file");
  writeFileSync(input, chunk.code);
  writeFileSync(join(folder, LICENSES), licensesOf(Object.keys(chunk.modules)));
}

/** @param {readonly string[]} modules the paths of what is in the file */
function licensesOf(modules) {
  const folders = modules
    .map((path) => /^.*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0])
    .filter((folder) => folder !== undefined);
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(folder, "package.json"), "utf8"),
    );
    const path = join(folder, "LICENSE");
    if (!existsSync(path)) throw new Error(`${name} has no LICENSE to be kept beside its code`);
    return `${name} ${version} (${license})\n\n${readFileSync(path, "utf8").trim()}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}
