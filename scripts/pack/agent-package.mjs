// @ts-check
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mustRun } from "../child-process.mjs";
import { withoutLocalPaths } from "../build/without-local-paths.mjs";
import { step } from "../progress.mjs";
import { dist, root, target } from "../project.mjs";

/** @import { AgentTarget } from "./agent-targets.mjs" */

const PROGRAM = "sandpipe-agent";
const licenses = ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT"];

/**
 * Builds the agent for a platform and puts its npm package together, beside the root package in dist/, of which it
 * has the version. Resolves the package's folder.
 *
 * @param {AgentTarget} agentTarget
 */
export async function buildAgentPackage({ os, cpu, rust }) {
  // Without the names of functions it takes a fifth less.
  const stripped = ["--", "-C", "strip=symbols"];
  await step(`agent for ${os}-${cpu}`, () =>
    mustRun("cargo", [
      ...["rustc", "--package", PROGRAM, "--bin", PROGRAM, "--release", "--target", rust],
      ...[...withoutLocalPaths(rust), ...stripped],
    ]),
  );
  const folder = join(target, "agent-packages", `${os}-${cpu}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const program = join(folder, PROGRAM);
  copyFileSync(join(target, rust, "release", PROGRAM), program);
  chmodSync(program, 0o755);
  for (const name of licenses) copyFileSync(join(root, name), join(folder, name));
  writeFileSync(join(folder, "README.md"), readme(os, cpu));
  writeFileSync(
    join(folder, "package.json"),
    `${JSON.stringify(manifest(os, cpu), undefined, 2)}\n`,
  );
  return folder;
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
