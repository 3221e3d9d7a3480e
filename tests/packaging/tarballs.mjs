// @ts-check
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { AGENT_TARGETS } from "../../scripts/build/agent-targets.mjs";
import { dist, testedTarballs } from "../../scripts/project.mjs";

const { version } = JSON.parse(readFileSync(join(dist, "package.json"), "utf8"));

/** The packed packages, by their names. @type {Readonly<Record<string, string>>} */
export const tarballs = Object.fromEntries([
  ["sandpipe", join(testedTarballs, `sandpipe-${version}.tgz`)],
  ...AGENT_TARGETS.map(({ os, cpu }) => [
    `@sandpipe/agent-${os}-${cpu}`,
    join(testedTarballs, `sandpipe-agent-${os}-${cpu}-${version}.tgz`),
  ]),
]);
