import { setTimeout as delay } from "node:timers/promises";

import { background } from "../../node.js";
import { toolsWith } from "../../tools/tools.js";
import { aborted } from "../ending/aborted.js";
import { command } from "../command-line/command.js";
import { Ending } from "../ending/ending.js";
import { Outlet } from "../screen/outlet.js";
import { reachRuntime, RUNTIME } from "../target/runtime.js";
import { version } from "../version.js";

/** How long a connection may take to close when the end is forced, in milliseconds. */
const CLOSING_MS = 1000;

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
It ends, with exit code 0, when stdin ends or on SIGTERM, SIGHUP or SIGQUIT; after Ctrl+C it dies of
SIGINT. What runs in the foreground is stopped first: SIGTERM to its process group, SIGKILL after 10
seconds. A second signal has it die of the first within a second: what it could not stop goes on up to
its timeout.

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
    // The program has V8 match so (sandpipe.ts).
    const tools = toolsWith(background, "linear")(runtime);
    const served = { tools, version: version(), signal: ending.decided, onError };
    const forced = aborted(ending.forced);
    try {
      await Promise.race([serve(served), forced]);
    } finally {
      await Promise.race([runtime.close(), forced.then(() => delay(CLOSING_MS))]);
    }
    if (ending.forced.aborted) {
      const message =
        "there was no answer yet: what ran in the foreground may go on, up to its timeout.";
      return { ...(await ending.wait()), message };
    }
    // To end at another signal is what it waits for, as at the end of stdin.
    return ending.signal === "SIGINT" ? await ending.wait() : { exitCode: 0 };
  },
});
