// @ts-check
// What `sandpipe mcp --print-config` gives to paste into a client's configuration.
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";

import { installSandpipe } from "../support/installed-cli.mjs";
import { startServer } from "../support/mcp-server.mjs";

/** The names of the servers, and how one is started. @typedef {Record<string, { command: string, args: string[] }>} Servers */

const sandpipe = await installSandpipe();
after(() => sandpipe.remove());

describe("the configuration of an MCP client", () => {
  /** @param {string[]} args */
  const printed = async (...args) => {
    const { exitCode, stdout, stderr } = await (await sandpipe.start(["mcp", ...args])).end;
    assert.equal(exitCode, 0, stderr);
    return { stdout, stderr };
  };

  for (const [client, key, file] of /** @type {const} */ ([
    ["claude", "mcpServers", /\.mcp\.json/],
    ["cursor", "mcpServers", /\.cursor\/mcp\.json/],
    ["vscode", "servers", /\.vscode\/mcp\.json/],
  ])) {
    it(`starts a server that answers, for ${client}`, async () => {
      const { stdout, stderr } = await printed("--local", "--print-config", client);
      assert.match(stderr, file);
      /** @type {Record<string, Servers>} */
      const config = JSON.parse(stdout);
      assert.deepEqual(Object.keys(config), [key]);
      const { command, args } = config[key]?.["sandpipe"] ?? { command: "", args: [] };
      assert.deepEqual(args.slice(2), ["mcp", "--local"]);
      const options = { command: [command, ...args.slice(0, 2)], args: args.slice(3) };
      const server = await startServer({}, { ...options, cwd: sandpipe.path });
      assert.match(await server.call("bash", { script: "echo hello" }), /^exit code: 0\n\nhello/);
      assert.equal((await server.close()).exitCode, 0);
    });
  }

  it("is a table of TOML for codex, with the other options", async () => {
    const options = ["--url", 'http://example.com/"a"', "--token-file", "token"];
    const { stdout, stderr } = await printed(...options, "--print-config", "codex");
    assert.match(stderr, /~\/\.codex\/config\.toml/);
    const token = JSON.stringify(`${sandpipe.path}/token`);
    assert.equal(
      stdout,
      `[mcp_servers.sandpipe]
command = "npx"
args = ["-y", "sandpipe", "mcp", "--url", "http://example.com/\\"a\\"", "--token-file", ${token}]
`,
    );
  });

  it("is refused for a client that is not known, and for two machines", async () => {
    for (const [args, message] of /** @type {[string[], RegExp][]} */ ([
      [["--print-config", "toString"], /claude, cursor, vscode, codex, but is "toString"/],
      [["--local", "--ssh", "host", "--print-config", "claude"], /--local and --ssh/],
    ])) {
      const { exitCode, stdout, stderr } = await (await sandpipe.start(["mcp", ...args])).end;
      assert.deepEqual([exitCode, stdout], [2, ""]);
      assert.match(stderr, message);
    }
  });
});
