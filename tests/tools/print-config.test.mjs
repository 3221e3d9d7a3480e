// @ts-check
// What `sandpipe mcp --print-config` gives to paste into a client's configuration.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { agent } from "../../scripts/project.mjs";
import { noBubblewrap } from "../support/bubblewrap.mjs";
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

  it(
    "fills in the workspace directory, so that a server starts anywhere",
    { skip: noBubblewrap },
    async () => {
      const home = join(elsewhere, "home");
      const project = join(home, "a project");
      mkdirSync(project, { recursive: true });
      /** @param {string[]} args @param {string} cwd */
      const startAtHome = async (args, cwd) =>
        (
          await sandpipe.start(["mcp", ...args, "--print-config", "claude"], {
            cwd,
            env: { HOME: home },
          })
        ).end;
      const { stdout, stderr } = await startAtHome(["--policy", "offline"], project);
      assert.notEqual(stdout, "", stderr);
      const args = JSON.parse(stdout).mcpServers.sandpipe.args.slice(2);
      assert.deepEqual(args, ["mcp", "--policy=offline", "--workspace", project]);
      for (const cwd of ["/", home]) {
        const options = { command: program, args: args.slice(1), cwd };
        const server = await startServer({ HOME: home, SANDPIPE_AGENT: agent }, options);
        const script = "pwd; echo x > made; echo x > ../outside";
        assert.ok((await server.call("bash", { script })).includes(`\n${project}\n`));
        assert.equal((await server.close()).exitCode, 0);
        assert.ok(existsSync(join(project, "made")) && !existsSync(join(home, "outside")));
      }
      // An option is taken from where it is written, and the home is no workspace.
      const named = await startAtHome(["--workspace", "a project"], home);
      assert.ok(JSON.parse(named.stdout).mcpServers.sandpipe.args.includes(project));
      const none = await startAtHome([], home);
      assert.deepEqual([none.exitCode, none.stdout], [2, ""]);
      assert.match(
        none.stderr,
        /give --workspace DIR, or run this in the directory of the project/,
      );
    },
  );

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
