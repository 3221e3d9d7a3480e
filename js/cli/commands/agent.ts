import type { AgentAddress } from "../../node/agent-address.js";
import { agentFlags, exportLines, LISTENER, serveAgent } from "../agent.js";
import { command } from "../command.js";
import type { StandardOutput } from "../exit-decision.js";
import { jsonLine } from "../format.js";
import { agentWithWalls, WALLS } from "../policy.js";

export const agent = command({
  name: "agent",
  summary: "run an agent in the foreground",
  usage: "[OPTIONS] [-- FLAGS...]",
  about:
    "Runs an agent until Ctrl+C, and prints its address, the file with its token, and how to use it from " +
    "another terminal. FLAGS are those of sandpipe-agent; `sandpipe agent -- --help` lists them.",
  options: {
    json: { help: "one line of JSON instead: url, adminTokenFile, policy" },
    ...LISTENER,
    ...WALLS,
    policy: {
      ...WALLS.policy,
      help: "what commands may touch: open, workspace, offline, strict, or a file [default: open]",
    },
  },
  operands: "[FLAGS...]",
  endsAtOperand: true,
  passesFlags: true,
  notes: `
It is the program that $SANDPIPE_AGENT names, else the one that is installed with this package, else
the one in $PATH. Ctrl+C, SIGTERM, SIGHUP and SIGQUIT stop it with all that it runs: SIGTERM first,
SIGKILL after 10 s (2 s where it does not listen yet) or at a second signal.

Exit codes:
  0    SIGTERM, SIGHUP or SIGQUIT told it to stop, and nothing of it is left
  2    the command line is wrong
  125  it could not be started; stderr says why
  130  Ctrl+C: it dies of SIGINT, and nothing of it is left; 128 + N, of another signal N, where it did
       not listen yet
  141  stdout or stderr was closed
  another one is the agent's own
`,
  examples: [
    "sandpipe agent",
    "sandpipe agent --listen 127.0.0.1:8000 --workspace /srv/app",
    "sandpipe agent --policy workspace --hide '**/.env'",
    "sandpipe agent --image node:22 --workspace . --memory 2g --network none",
  ],

  async run(values, flags) {
    const walls = agentWithWalls(values) ?? {};
    const announce = async (address: AgentAddress, { stdout }: StandardOutput): Promise<void> => {
      await stdout.write(values.json ? jsonLine(address) : directions(address));
    };
    return await serveAgent(agentFlags(values, flags), announce, walls);
  },
});

/** What a person needs to know to use an agent. */
function directions(address: AgentAddress): string {
  const { url, adminTokenFile, policy } = address;
  return `\
The agent listens on ${url}
Its token is in ${adminTokenFile ?? "$SANDPIPE_ADMIN_TOKEN"}
${policy?.name === "open" ? "Commands run unconfined, with your permissions: --policy workspace confines them.\n" : ""}\

To use it from another terminal:
${exportLines(address)}
Ctrl+C stops it with all that it runs.
`;
}
