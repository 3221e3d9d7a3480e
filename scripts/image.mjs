// @ts-check
/**
 * `npm run image [-- --cpu x64|arm64] [TAG]`: builds the container image of the agent, for the processor of this
 * machine unless another is named, with podman. The tag is `sandpipe-agent` unless there is another.
 */

import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { AGENT_TARGETS } from "./build/agent-targets.mjs";
import { mustRun } from "./child-process.mjs";
import { command } from "./command.mjs";
import { agentPackage, root, target } from "./project.mjs";
import { preparePodman } from "./setup/debian-packages.mjs";

const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";

/** What containers call a processor, by Node.js's name for it. */
const ARCHITECTURES = { arm64: "arm64", x64: "amd64" };

await command(async () => {
  const { values, positionals } = parseArgs({
    options: { cpu: { type: "string", default: process.arch } },
    allowPositionals: true,
  });
  const agentTarget = AGENT_TARGETS.find(({ cpu }) => cpu === values.cpu);
  const [tag = "sandpipe-agent", ...others] = positionals;
  if (agentTarget === undefined || others.length > 0) {
    const known = AGENT_TARGETS.map(({ cpu }) => cpu).join("|");
    console.error(`Usage: npm run image [-- --cpu ${known}] [TAG]`);
    return 2;
  }
  await preparePodman();
  await mustRun("npm", ["run", "--silent", "setup"]);
  const platforms =
    agentTarget.cpu === process.arch ? "build:release-agent" : "build:release-agents";
  await mustRun("npm", ["run", "--silent", platforms]);

  const context = join(target, "image");
  rmSync(context, { recursive: true, force: true });
  mkdirSync(join(context, "state"), { recursive: true, mode: 0o700 });
  copyFileSync(join(agentPackage(agentTarget), "sandpipe-agent"), join(context, "sandpipe-agent"));
  copyFileSync(CERTIFICATES, join(context, "ca-certificates.crt"));
  const platform = `linux/${ARCHITECTURES[agentTarget.cpu]}`;
  await mustRun("podman", [
    // Images of the OCI's form have no health check.
    ...["build", "--format", "docker", "--platform", platform, "--tag", tag],
    ...["--file", join(root, "Containerfile"), context],
  ]);
  return 0;
});
