import { printFromAgent } from "../../node/agent-process.js";
import { command, UsageError } from "../command.js";
import { OWN_FAILURE } from "../outcome.js";

const ACTIONS = ["check", "explain"];

export const policy = command({
  name: "policy",
  summary: "say what a policy lets commands touch on this machine",
  usage: "check|explain [ARGS...]",
  about:
    "`check` prints the rules that hold, what holds them here, and what is missing; with --dry-run the command line of " +
    "bubblewrap. `explain` says which rule of a policy decides about a path, about HOST:PORT, or about the variable $NAME. `sandpipe policy check --help` " +
    "lists what else they take: the flags with which an agent gets its policy.",
  options: {},
  operands: "[ARGS...]",
  endsAtOperand: true,
  notes: `
Exit codes:
  0    nothing is missing
  1    something is missing on this machine; stdout says what, and what to do
  2    the command line is wrong
  125  sandpipe itself failed; stderr says why
`,
  examples: [
    "sandpipe policy check workspace",
    "sandpipe policy check ./policy.json --dry-run",
    "sandpipe policy explain workspace ~/.ssh/id_ed25519 registry.example.com:443",
  ],

  async run(_, args) {
    const [action = ""] = args;
    if (!ACTIONS.includes(action)) {
      throw new UsageError(`what about the policy? ${ACTIONS.join(" or ")}`);
    }
    const exitCode = printFromAgent(["policy", ...args]);
    if (exitCode !== null) return { exitCode };
    return { exitCode: OWN_FAILURE, message: "the agent was ended by a signal." };
  },
});
