import { tools } from "../../tools/node.js";
import { command } from "../command.js";
import { Ending } from "../ending.js";
import { Outlet } from "../outlet.js";
import { reachRuntime, RUNTIME } from "../runtime.js";
import { version } from "../version.js";

export const mcp = command({
  name: "mcp",
  summary: "serve shell tools to an AI agent over the Model Context Protocol",
  usage: "[OPTIONS]",
  about:
    "Serves the tools bash, bash_background_list, bash_background_output and " +
    "bash_background_terminate over stdin and stdout, to the client that starts it. Background " +
    "processes outlive it, and the next server finds them.",
  options: RUNTIME,
  notes: `
It ends, with exit code 0, when stdin ends or on SIGINT, SIGTERM, SIGHUP or SIGQUIT. What runs in the
foreground is stopped first: SIGTERM to its process group, SIGKILL after 10 seconds.

A client is told of it like this:
  { "mcpServers": { "sandpipe": { "command": "npx", "args": ["sandpipe", "mcp"] } } }
`,
  examples: ["sandpipe mcp", "sandpipe mcp --ssh build.example.com"],

  async run(values) {
    const ending = new Ending();
    ending.listenToSignals();
    const runtime = await reachRuntime(values);
    // No other command needs a dependency of the package.
    const { serve } = await import("../../mcp/serve.js");
    const log = new Outlet(process.stderr);
    const onError = ({ message }: Error): void => void log.write(`sandpipe: ${message}\n`);
    try {
      const served = { tools: tools(runtime), version: version(), signal: ending.decided, onError };
      await serve(served);
      return { exitCode: 0 };
    } finally {
      await runtime.close();
    }
  },
});
