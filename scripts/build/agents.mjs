// @ts-check
/**
 * `agents.mjs [--all]`: builds the agent for this machine, or for every platform, and puts its npm packages together,
 * beside the root package in dist/, of which they have the version.
 *
 * `agents.mjs --library`: what takes long of that for this machine, and needs no console: the agent's library.
 */

import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { mustRun } from "../child-process.mjs";
import { command } from "../command.mjs";
import { LICENSES, agentPackage, dist, root, target } from "../project.mjs";
import { AGENT_TARGETS } from "./agent-targets.mjs";

/** @import { AgentTarget } from "./agent-targets.mjs" */

const PROGRAM = "sandpipe-agent";

/**
 * What makes the program smaller, for rustc: a program that is loaded at any address has a table of the pointers to correct, 370 KB,
 * which this form of it (DT_RELR, musl 1.2.4 or later) has in 5. And cargo strips no more than debug information from a package that
 * has a setting of its own in the profile.
 */
const SMALL = ["-C", "link-arg=--pack-dyn-relocs=relr", "-C", "strip=symbols"];

await command(async () => {
  const isChosen = process.argv.includes("--all") ? () => true : isOwn;
  const chosen = AGENT_TARGETS.filter(isChosen);
  if (chosen.length === 0) {
    console.error(`There is no agent for ${process.platform} on ${process.arch}, only for Linux.`);
    return 1;
  }
  for (const agentTarget of chosen) {
    if (process.argv.includes("--library")) {
      await compile(agentTarget, ["--lib"]);
    } else {
      await compile(agentTarget, ["--bin", PROGRAM, "--", "--cfg", "console", ...SMALL]);
      assemble(agentTarget);
    }
  }
  return 0;
});

/**
 * @param {AgentTarget} agentTarget
 * @param {readonly string[]} args what of it, and more for rustc
 */
async function compile({ rust }, args) {
  const flags = ["--locked", "--package", PROGRAM, "--release", "--target", rust];
  await mustRun("cargo", ["rustc", ...flags, ...withoutLocalPaths(rust), ...args]);
}

/** @param {AgentTarget} agentTarget */
function isOwn({ os, cpu }) {
  return os === process.platform && cpu === process.arch;
}

/**
 * What cargo is to be given so that what it builds for a target has no path of this machine in it: panics name their
 * sources.
 *
 * @param {string} rustTarget
 */
function withoutLocalPaths(rustTarget) {
  const sources = join(process.env["CARGO_HOME"] ?? join(homedir(), ".cargo"), "registry", "src");
  const rustflags = JSON.stringify([`--remap-path-prefix=${sources}=crates`]);
  return ["--config", `target.${rustTarget}.rustflags=${rustflags}`];
}

/** @param {AgentTarget} agentTarget */
function assemble({ os, cpu, rust }) {
  const folder = agentPackage({ os, cpu });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const program = join(folder, PROGRAM);
  copyFileSync(join(target, rust, "release", PROGRAM), program);
  chmodSync(program, 0o755);
  for (const name of LICENSES) copyFileSync(join(root, name), join(folder, name));
  writeFileSync(join(folder, "README.md"), readme(os, cpu));
  writeFileSync(
    join(folder, "package.json"),
    `${JSON.stringify(manifest(os, cpu), undefined, 2)}\n`,
  );
}

/**
 * @param {string} os
 * @param {string} cpu
 */
function manifest(os, cpu) {
  // What is said of the whole project is said once, in the root package. JSON leaves out what is undefined.
  const { version, license, author, homepage, repository, bugs } = JSON.parse(
    readFileSync(join(dist, "package.json"), "utf8"),
  );
  return {
    name: `@sandpipe/agent-${os}-${cpu}`,
    version,
    description: `The agent of sandpipe for ${os} on ${cpu}: one static binary`,
    ...{ license, author, homepage, repository, bugs },
    // There is no module in it; without this publint asks for it.
    type: "module",
    os: [os],
    cpu: [cpu],
    // Yarn's Plug'n'Play leaves packages in archives, which nothing can be executed from.
    preferUnplugged: true,
    publishConfig: { access: "public" },
  };
}

/**
 * @param {string} os
 * @param {string} cpu
 */
function readme(os, cpu) {
  return `# @sandpipe/agent-${os}-${cpu}

\`sandpipe-agent\` for ${os} on ${cpu}: one static binary, for any distribution. The package
[sandpipe](https://www.npmjs.com/package/sandpipe) installs it as an optional dependency, and finds it by itself.

License: MIT OR Apache-2.0.
`;
}
