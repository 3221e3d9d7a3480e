// @ts-check
/**
 * Builds the agent and puts its npm packages together; they have the version of the root package in dist/.
 *
 * - `agents.mjs checkout`: for this machine, compiled fast. It is what `npm start` and most tests run.
 * - `agents.mjs release [--all]`: for this machine, or for every platform, as it is published.
 *
 * `--library` compiles the agent's library alone: it takes most of the time, and needs no console.
 */

import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mustRun } from "../child-process.mjs";
import { command } from "../command.mjs";
import { LICENSES, agentPackage, checkoutAgentPackage, dist, root, target } from "../project.mjs";
import { AGENT_TARGETS } from "./agent-targets.mjs";
import { withoutLocalPaths } from "./local-paths.mjs";

/** @import { AgentTarget } from "./agent-targets.mjs" */

const PROGRAM = "sandpipe-agent";

/**
 * What makes the program smaller, for rustc: a program that is loaded at any address has a table of the pointers to correct, 370 KB,
 * which this form of it (DT_RELR, musl 1.2.4 or later) has in 5. And cargo strips no more than debug information from a package that
 * has a setting of its own in the profile.
 */
const SMALL = ["-C", "link-arg=--pack-dyn-relocs=relr", "-C", "strip=symbols"];

/** @typedef {"checkout" | "release"} Profile a profile of Cargo.toml */

await command(async () => {
  const [profile, ...flags] = process.argv.slice(2);
  if (profile !== "checkout" && profile !== "release") {
    console.error("Usage: agents.mjs checkout|release [--all] [--library]");
    return 2;
  }
  const chosen = AGENT_TARGETS.filter(flags.includes("--all") ? () => true : isOwn);
  if (chosen.length === 0) {
    console.error(`There is no agent for ${process.platform} on ${process.arch}, only for Linux.`);
    return 1;
  }
  const isLibrary = flags.includes("--library");
  await (profile === "release" ? compileForRelease(chosen) : compileForCheckout(isLibrary));
  if (!isLibrary) for (const agentTarget of chosen) assemble(agentTarget, profile);
  return 0;
});

/** @param {boolean} isLibrary the flag `console` is the program's alone */
async function compileForCheckout(isLibrary) {
  for (const { rust } of AGENT_TARGETS.filter(isOwn)) {
    const flags = ["--locked", "--package", PROGRAM, "--profile", "checkout", "--target", rust];
    const part = isLibrary ? ["--lib"] : ["--bin", PROGRAM, "--", "--cfg", "console"];
    await mustRun("cargo", ["rustc", ...flags, ...withoutLocalPaths(rust), ...part]);
  }
}

/**
 * One call of cargo for all: each program is linked on one processor, for a minute.
 *
 * @param {readonly AgentTarget[]} targets
 */
async function compileForRelease(targets) {
  const flags = ["--locked", "--package", PROGRAM, "--bin", PROGRAM, "--profile", "release"];
  const forTargets = targets.flatMap(({ rust }) => [
    ...["--target", rust],
    ...withoutLocalPaths(rust, ["--cfg", "console", ...SMALL]),
  ]);
  await mustRun("cargo", ["build", ...flags, ...forTargets]);
}

/** @param {AgentTarget} agentTarget */
function isOwn({ os, cpu }) {
  return os === process.platform && cpu === process.arch;
}

/**
 * @param {AgentTarget} agentTarget
 * @param {Profile} profile
 */
function assemble({ os, cpu, rust }, profile) {
  const folder = profile === "release" ? agentPackage({ os, cpu }) : checkoutAgentPackage;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const program = join(folder, PROGRAM);
  copyFileSync(join(target, rust, profile, PROGRAM), program);
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
    // For every system: where that is another, it runs in containers.
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

\`sandpipe-agent\` for ${os} on ${cpu}: one static binary, for any distribution, and for containers on other systems. The package
[sandpipe](https://www.npmjs.com/package/sandpipe) installs it as an optional dependency, and finds it by itself.

License: MIT OR Apache-2.0.
`;
}
