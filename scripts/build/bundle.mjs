// @ts-check
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../project.mjs";

/** The files that need other packages. */
const USERS = [
  ...["cli/parser.js", "cli/table.js", "mcp/serve.js"],
  ...["node/forward/connection.js", "node/trees/tar.js"],
];

const LICENSES = "third-party-licenses.txt";

/**
 * Puts what files need of other packages into them, so that nobody installs those, and their licenses beside.
 *
 * @param {string} folder the package, compiled
 */
export async function bundlePackages(folder) {
  // Set-up may have installed it only after this file was loaded.
  const { rolldown } = await import("rolldown");
  /** @type {Set<string>} */
  const modules = new Set();
  for (const user of USERS) {
    const input = join(folder, user);
    const bundle = await rolldown({
      ...{ input, platform: "node", cwd: root },
      // The package's own files stay files.
      external: (id, importer) => id.startsWith(".") && importer === input,
    });
    const { output } = await bundle.generate({ format: "esm", minify: true });
    await bundle.close();
    const [chunk, ...others] = output;
    if (others.length > 0) throw new Error(`${user} is to be one file`);
    writeFileSync(input, chunk.code);
    for (const path of Object.keys(chunk.modules)) modules.add(path);
  }
  writeFileSync(join(folder, LICENSES), licensesOf([...modules]));
}

/** @param {readonly string[]} modules the paths of what is bundled */
function licensesOf(modules) {
  const folders = modules
    .map((path) => /^.*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0])
    .filter((folder) => folder !== undefined);
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(folder, "package.json"), "utf8"),
    );
    const path = ["LICENSE", "license"].map((name) => join(folder, name)).find(existsSync);
    if (path === undefined) throw new Error(`${name} has no LICENSE to be kept beside its code`);
    return `${name} ${version} (${license})\n\n${readFileSync(path, "utf8").trim()}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}
