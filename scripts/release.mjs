// @ts-check
/**
 * `npm run release -- --tag TAG DIR`: publishes what `npm run pack` has put into DIR: the agent's packages first,
 * each once it can be seen to be there. It can be run again: what is published stays as it is.
 */

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { AGENT_TARGETS } from "./build/agent-targets.mjs";
import { PLACEHOLDER, workspace } from "./build/workspace.mjs";
import { command } from "./command.mjs";
import { root } from "./project.mjs";
import { obstacles } from "./release/obstacles.mjs";
import { publish } from "./release/publish.mjs";

await command(async () => {
  const { values, positionals } = parseArgs({
    options: { tag: { type: "string" } },
    allowPositionals: true,
  });
  const [typed, ...others] = positionals;
  if (values.tag === undefined || typed === undefined || others.length > 0) {
    console.error("Usage: npm run release -- --tag TAG DIR");
    return 2;
  }
  const folder = resolve(process.env["INIT_CWD"] ?? "", typed);
  const { version, slug } = workspace();
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const reasons = obstacles({
    version,
    slug,
    changelog,
    readme,
    placeholder: PLACEHOLDER,
    tag: values.tag,
  });
  if (reasons.length > 0) {
    console.error(`This can't be published:\n${reasons.map((line) => `  ${line}`).join("\n")}`);
    return 1;
  }
  // What depends on the others comes last.
  const releases = [
    ...AGENT_TARGETS.map(({ os, cpu }) => ({
      name: `@sandpipe/agent-${os}-${cpu}`,
      tarball: join(folder, `sandpipe-agent-${os}-${cpu}-${version}.tgz`),
    })),
    { name: "sandpipe", tarball: join(folder, `sandpipe-${version}.tgz`) },
  ];
  const missing = releases.find(({ tarball }) => !existsSync(tarball));
  if (missing !== undefined) {
    console.error(`There is no ${missing.tarball}: run \`npm run pack -- DIR\` first.`);
    return 1;
  }
  for (const release of releases) await publish({ ...release, version });
  return 0;
});
