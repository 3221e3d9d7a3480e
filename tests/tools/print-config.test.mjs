// @ts-check
// What `sandpipe mcp --print-config` gives to paste into a client's configuration.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { installSandpipe } from "../support/installed-cli.mjs";
import { startServer } from "../support/mcp-server.mjs";

/** The names of the servers, and how one is started. @typedef {Record<string, { command: string, args: string[] }>} Servers */

const sandpipe = await installSandpipe();
const elsewhere = realpathSync(mkdtempSync(join(tmpdir(), "sandpipe-test-")));
after(async () => {
  await sandpipe.remove();
  rmSync(elsewhere, { recursive: true });
});
/** How the program is started. */
const program = [process.execPath, "--", sandpipe.script];

describe("the configuration of an MCP client", () => {
  /** @param {string[]} args @param {string} [cwd] */
  const start = async (args, cwd = elsewhere) =>
    (await sandpipe.start(["mcp", ...args], { cwd })).end;
  /** @param {string[]} args */
  const printed = async (...args) => {
    const { exitCode, stdout, stderr } = await start(args);
    assert.equal(exitCode, 0, stderr);
    return { stdout, stderr };
  };

  for (const [client, key, file] of /** @type {const} */ ([
    ["claude", "mcpServers", /~\/\.claude\.json/],
    ["cursor", "mcpServers", /in ~\/\.cursor\/mcp\.json/],
    ["vscode", "servers", /MCP: Open User Configuration/],
  ])) {
    it(`starts a server that answers, for ${client}`, async () => {
      const { stdout, stderr } = await printed("--local", "--print-config", client);
      assert.match(stderr, file);
      assert.match(stderr, /can be changed by commands, and what it names runs unconfined/);
      /** @type {Record<string, Servers>} */
      const config = JSON.parse(stdout);
      assert.deepEqual(Object.keys(config), [key]);
      const { command, args } = config[key]?.["sandpipe"] ?? { command: "", args: [] };
      assert.deepEqual([command, ...args], [...program, "mcp", "--local"]);
      const server = await startServer({}, { command: program, args: ["--local"], cwd: elsewhere });
      assert.match(await server.call("bash", { script: "echo hello" }), /^exit code: 0\n\nhello/);
      assert.equal((await server.close()).exitCode, 0);
    });
  }

  it("is a table of TOML for codex, with the other options", async () => {
    const options = ["--url", 'http://example.com/"a"', "--token-file", "token"];
    const { stdout, stderr } = await printed(...options, "--print-config", "codex");
    assert.match(stderr, /~\/\.codex\/config\.toml/);
    const token = JSON.stringify(`${elsewhere}/token`);
    const [command, ...args] = program.map((word) => JSON.stringify(word));
    assert.equal(
      stdout,
      `[mcp_servers.sandpipe]
command = ${command}
args = [${args.join(", ")}, "mcp", "--url", "http://example.com/\\"a\\"", "--token-file", ${token}]
`,
    );
  });

  it("is refused where the program lies in the workspace, but for commands elsewhere", async () => {
    const below = join(sandpipe.path, "packages");
    mkdirSync(below, { recursive: true });
    for (const cwd of [sandpipe.path, below]) {
      const { exitCode, stdout, stderr } = await start(["--print-config", "claude"], cwd);
      assert.deepEqual([exitCode, stdout], [125, ""]);
      assert.ok(stderr.includes(`${sandpipe.script} is in a project whose commands can change it`));
      assert.match(stderr, /npm install --global sandpipe/);
    }
    const other = await start(["--ssh", "host", "--print-config", "claude"], sandpipe.path);
    assert.equal(other.exitCode, 0, other.stderr);
  });

  it("is refused for a client that is not known, and for two machines", async () => {
    for (const [args, message] of /** @type {[string[], RegExp][]} */ ([
      [["--print-config", "toString"], /claude, cursor, vscode, codex, but is "toString"/],
      [["--local", "--ssh", "host", "--print-config", "claude"], /--local and --ssh/],
    ])) {
      const { exitCode, stdout, stderr } = await start(args);
      assert.deepEqual([exitCode, stdout], [2, ""]);
      assert.match(stderr, message);
    }
  });
});
