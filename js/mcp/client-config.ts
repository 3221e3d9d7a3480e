/** What an MCP client keeps its servers in: the file, and its form. */
interface Client {
  /** Where it is, for a project and for a user. */
  readonly file: string;
  /** The file's text with one server. */
  readonly text: (args: readonly string[]) => string;
}

const COMMAND = "npx";

/** The clients whose configuration is known, by the name that the command line has for them. */
const CLIENTS = {
  claude: {
    file: ".mcp.json (Claude Code) or claude_desktop_config.json (Claude Desktop)",
    text: (args) => json({ mcpServers: { sandpipe: { command: COMMAND, args } } }),
  },
  cursor: {
    file: ".cursor/mcp.json or ~/.cursor/mcp.json",
    text: (args) => json({ mcpServers: { sandpipe: { command: COMMAND, args } } }),
  },
  vscode: {
    file: ".vscode/mcp.json",
    text: (args) => json({ servers: { sandpipe: { type: "stdio", command: COMMAND, args } } }),
  },
  codex: {
    file: "~/.codex/config.toml",
    // A string of JSON is a basic string of TOML (TOML 1.0, String).
    text: (args) =>
      `[mcp_servers.sandpipe]\ncommand = "${COMMAND}"\nargs = [${args.map((arg) => JSON.stringify(arg)).join(", ")}]\n`,
  },
} as const satisfies Record<string, Client>;

/** The names of the clients. */
export const CLIENT_NAMES: readonly string[] = Object.keys(CLIENTS);

/**
 * What to paste into a client's configuration, so that it starts `sandpipe mcp`, and the file where it belongs.
 *
 * @param options What follows `sandpipe mcp` on the command line.
 * @returns `undefined` for a client that is not known.
 */
export function clientConfig(
  client: string,
  options: readonly string[],
): { readonly file: string; readonly text: string } | undefined {
  if (!Object.hasOwn(CLIENTS, client)) return undefined;
  const { file, text } = CLIENTS[client as keyof typeof CLIENTS];
  // Without `-y`, npx asks before it installs a package.
  return { file, text: text(["-y", "sandpipe", "mcp", ...options]) };
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
