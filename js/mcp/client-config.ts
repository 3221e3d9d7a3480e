/** What an MCP client keeps its servers in: the file, and its form. */
interface Client {
  /** Where it is: the user's, not a project's, which commands can write. */
  readonly file: string;
  /** The file's text with one server. */
  readonly text: (command: string, args: readonly string[]) => string;
}

/** The clients whose configuration is known, by the name that the command line has for them. */
const CLIENTS = {
  claude: {
    file: "~/.claude.json (Claude Code) or claude_desktop_config.json (Claude Desktop)",
    text: (command, args) => json({ mcpServers: { sandpipe: { command, args } } }),
  },
  cursor: {
    file: "~/.cursor/mcp.json",
    text: (command, args) => json({ mcpServers: { sandpipe: { command, args } } }),
  },
  vscode: {
    file: "the mcp.json of your profile, which `MCP: Open User Configuration` opens",
    text: (command, args) => json({ servers: { sandpipe: { type: "stdio", command, args } } }),
  },
  codex: {
    file: "~/.codex/config.toml",
    // A string of JSON is a basic string of TOML (TOML 1.0, String).
    text: (command, args) =>
      `[mcp_servers.sandpipe]\ncommand = ${JSON.stringify(command)}\nargs = [${args.map((arg) => JSON.stringify(arg)).join(", ")}]\n`,
  },
} as const satisfies Record<string, Client>;

/** The names of the clients. */
export const CLIENT_NAMES: readonly string[] = Object.keys(CLIENTS);

/**
 * What to paste into a client's configuration, so that it starts `sandpipe mcp`, and the file where it belongs.
 *
 * @param program What starts `sandpipe`: a program by its path, and its arguments.
 * @param options What follows `sandpipe mcp` on the command line.
 * @returns `undefined` for a client that is not known.
 */
export function clientConfig(
  client: string,
  [command, ...args]: readonly [string, ...string[]],
  options: readonly string[],
): { readonly file: string; readonly text: string } | undefined {
  if (!Object.hasOwn(CLIENTS, client)) return undefined;
  const { file, text } = CLIENTS[client as keyof typeof CLIENTS];
  return { file, text: text(command, [...args, "mcp", ...options]) };
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
