// @ts-check
/**
 * Puts into dist/, where tsc has compiled js/, what else the npm package has: the core, what it needs of other packages,
 * what is in pkg-template/. Tests and examples import it as `sandpipe`.
 */

import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { LICENSES, bindings, dist, root } from "../project.mjs";
import { bundlePackages } from "./bundle.mjs";
import { withShortImports } from "./short-imports.mjs";
import { mcpName, workspace } from "./workspace.mjs";

await bundlePackages(dist);
mkdirSync(join(dist, "core"), { recursive: true });
const { module, code } = withShortImports(
  readFileSync(join(bindings, "sandpipe_bg.wasm")),
  readFileSync(join(bindings, "sandpipe.js"), "utf8"),
);
writeFileSync(join(dist, "core", "sandpipe.js"), withoutComments(withoutFree(code)));
writeFileSync(join(dist, "core", "sandpipe.d.ts"), publicTypes());
writeFileSync(join(dist, "sandpipe.wasm"), module);
writeFileSync(join(dist, "inline-wasm.js"), inlined(module));
copyFileSync(join(root, "js", "sandpipe.d.wasm.ts"), join(dist, "sandpipe.wasm.d.ts"));
cpSync(join(root, "pkg-template"), dist, { recursive: true });
for (const name of LICENSES) copyFileSync(join(root, name), join(dist, name));
completeManifest(join(dist, "package.json"));

/**
 * The types of the bindings, without what loads the module: it takes types of the DOM.
 */
function publicTypes() {
  const types = readFileSync(join(bindings, "sandpipe.d.ts"), "utf8");
  const end = types.indexOf("export type InitInput");
  if (end === -1) throw new Error("the types of the bindings have no InitInput");
  return withoutFree(types.slice(0, end));
}

/**
 * Code or types without what frees an object before it is collected: nobody has to, and nothing could be done with it
 * afterwards. `using session = …` would free it, too, and leave its shell running.
 *
 * @param {string} code
 */
function withoutFree(code) {
  const method = /^ +(free|\[Symbol\.dispose\])\(\)(: void;| \{\n[^}]*\})\n/gm;
  return code.replaceAll(method, "").replaceAll(/^if \(Symbol\.dispose\) .*\n/gm, "");
}

/**
 * Code without its documentation, which is that of the types: a third of what pages download of the code.
 *
 * @param {string} code
 */
function withoutComments(code) {
  return code.replaceAll(/^ *\/\*\*\n( +\*.*\n)+/gm, "");
}

/**
 * The module as JavaScript, for bundlers that leave the file behind. It takes as much to download as the file,
 * and half as much on disk.
 *
 * @param {Buffer} module
 */
function inlined(module) {
  const gzipBase64 = gzipSync(module, { level: 9 }).toString("base64");
  return `export const gzipBase64 =\n  "${gzipBase64}";\n`;
}

/**
 * The package has the version of the workspace, and so have the agent's, which it depends on.
 *
 * @param {string} path
 */
function completeManifest(path) {
  const { version, repository, slug } = workspace();
  const { name, ...rest } = JSON.parse(readFileSync(path, "utf8"));
  for (const agent of Object.keys(rest.optionalDependencies)) {
    rest.optionalDependencies[agent] = version;
  }
  const manifest = {
    ...{ name, version, ...rest },
    author: "The Sandpipe authors",
    homepage: `${repository}#readme`,
    repository: { type: "git", url: `git+${repository}.git` },
    bugs: `${repository}/issues`,
    mcpName: mcpName(slug),
  };
  writeFileSync(path, `${JSON.stringify(manifest, undefined, 2)}\n`);
}
