// @ts-check
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { mustRun } from "../child-process.mjs";
import { bindings, dist, root, target } from "../project.mjs";
import { bundleMcpServer } from "./mcp-bundle.mjs";
import { whenChanged } from "./when-changed.mjs";
import { mcpName, workspace } from "./workspace.mjs";

const source = join(root, "js");
const template = join(root, "pkg-template");
const licenses = ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT"];
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");

/** Puts the npm package together: dist/, which tests and examples import as `sandpipe`. */
export async function buildNpmPackage() {
  const inputs = [
    ...[source, template, ...licenses.map((name) => join(root, name))],
    ...["Cargo.toml", "package-lock.json", "tsconfig.base.json"].map((name) => join(root, name)),
    ...["npm-package.mjs", "mcp-bundle.mjs", "workspace.mjs"].map((name) =>
      join(root, "scripts", "build", name),
    ),
  ];
  await whenChanged("npm package", { inputs, outputs: [dist] }, assemble);
  linkAsDependency();
}

async function assemble() {
  // Put in place only when it is whole, so that nothing of an earlier build is left in it.
  const fresh = join(target, "npm-package");
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(join(fresh, "core"), { recursive: true });

  await mustRun(process.execPath, [compiler, "--project", source, "--outDir", fresh]);
  await bundleMcpServer(fresh);
  copyFileSync(join(bindings, "sandpipe.js"), join(fresh, "core", "sandpipe.js"));
  writeFileSync(join(fresh, "core", "sandpipe.d.ts"), publicTypes());
  const module = join(bindings, "sandpipe_bg.wasm");
  copyFileSync(module, join(fresh, "sandpipe.wasm"));
  writeFileSync(join(fresh, "inline-wasm.js"), inlined(readFileSync(module)));
  copyFileSync(join(source, "sandpipe.d.wasm.ts"), join(fresh, "sandpipe.wasm.d.ts"));

  cpSync(template, fresh, { recursive: true });
  for (const name of licenses) copyFileSync(join(root, name), join(fresh, name));
  completeManifest(join(fresh, "package.json"));

  rmSync(dist, { recursive: true, force: true });
  renameSync(fresh, dist);
}

/** The types of the bindings, without what loads the module: it takes types of the DOM. */
function publicTypes() {
  const types = readFileSync(join(bindings, "sandpipe.d.ts"), "utf8");
  const end = types.indexOf("export type InitInput");
  if (end === -1) throw new Error("the types of the bindings have no InitInput");
  return types.slice(0, end);
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

function linkAsDependency() {
  const link = join(root, "node_modules", "sandpipe");
  rmSync(link, { recursive: true, force: true });
  symlinkSync(join("..", "dist"), link, "dir");
}
