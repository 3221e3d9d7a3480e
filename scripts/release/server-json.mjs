// @ts-check
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { mcpName, workspace } from "../build/workspace.mjs";

const SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/**
 * Writes what the MCP registry is told of `sandpipe mcp`: server.json. Its name is also in the npm package, as
 * `mcpName`: that shows whose it is.
 *
 * @param {string} folder
 */
export function writeServerJson(folder) {
  const { version, repository, slug } = workspace();
  const server = {
    $schema: SCHEMA,
    name: mcpName(slug),
    title: "Sandpipe",
    description:
      "Runs shell commands, here, over SSH or in a sandbox, and background processes that last",
    version,
    repository: { url: repository, source: "github" },
    packages: [
      {
        registryType: "npm",
        identifier: "sandpipe",
        version,
        runtimeHint: "npx",
        transport: { type: "stdio" },
        packageArguments: [{ type: "positional", value: "mcp" }],
        environmentVariables: [
          {
            name: "SANDPIPE_URL",
            description: "The agent that runs the commands, if it is not this machine",
          },
          { name: "SANDPIPE_TOKEN", description: "The agent's token", isSecret: true },
        ],
      },
    ],
  };
  writeFileSync(join(folder, "server.json"), `${JSON.stringify(server, undefined, 2)}\n`);
}
