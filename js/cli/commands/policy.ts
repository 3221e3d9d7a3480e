import { printFromAgent } from "../../node/agent-process.js";
import { type Command, command, type CommandGroup, type Option } from "../command.js";
import { OWN_FAILURE } from "../outcome.js";
import { POLICY, policyArguments } from "../policy.js";

const PRESETS = POLICY.policy.offers;

/** Where a policy applies, as flags of sandpipe-agent. */
const PLACE = {
  workspace: { value: "DIR", help: "the workspace directory [default: the current one]" },
  "state-dir": { value: "DIR", help: "the agent's state directory" },
} as const;

const NOTES = "FLAGS are those of sandpipe-agent, such as --max-memory 2GiB or --network none.";

/** A command that sandpipe-agent carries out. */
function ofAgent(
  definition: Pick<Command, "name" | "summary" | "usage" | "about" | "notes" | "examples">,
  defaultPolicy: string,
  more: Readonly<Record<string, Option>> = {},
): Command {
  const help = `the policy: ${PRESETS.join(", ")}, or a file [default: ${defaultPolicy}]`;
  const options = { ...more, ...PLACE, ...POLICY, policy: { ...POLICY.policy, help } };
  return command({
    ...definition,
    options,
    operands: "[ARGS...]",
    offers: PRESETS,
    passesFlags: true,

    async run(values, operands) {
      const flags = Object.keys({ ...more, ...PLACE }).flatMap((name) => {
        const value: unknown = values[name as keyof typeof values];
        if (typeof value === "string") return [`--${name}=${value}`];
        return value === true ? [`--${name}`] : [];
      });
      const args = [...flags, ...policyArguments(values), ...operands];
      const exitCode = printFromAgent(["policy", definition.name, ...args]);
      if (exitCode !== null) return { exitCode };
      return { exitCode: OWN_FAILURE, message: "the agent was ended by a signal." };
    },
  });
}

const check = ofAgent(
  {
    name: "check",
    summary: "print the rules of a policy, and what this machine lacks to enforce it",
    usage: "[OPTIONS] [NAME|FILE] [-- FLAGS...]",
    about: "Prints the rules of a policy, what enforces them on this machine, and what is missing.",
    notes: `
${NOTES}

Exit codes:
  0    nothing is missing
  1    something is missing on this machine; stdout says what, and what to do
  2    the command line is wrong
  125  sandpipe itself failed; stderr says why
`,
    examples: ["sandpipe policy check workspace", "sandpipe policy check ./policy.json --dry-run"],
  },
  "workspace",
  { "dry-run": { help: "print the command line of bubblewrap instead" } },
);

const explain = ofAgent(
  {
    name: "explain",
    summary: "say which rule of a policy decides",
    usage: "[OPTIONS] [NAME|FILE] PATH|HOST:PORT|'$NAME'... [-- FLAGS...]",
    about: "Says which rule of a policy decides about a path, a host, or a variable.",
    notes: NOTES,
    examples: [
      "sandpipe policy explain workspace ~/.ssh/id_ed25519 registry.example.com:443",
      "sandpipe policy explain --policy offline '$GITHUB_TOKEN'",
    ],
  },
  "workspace",
);

export const policy: CommandGroup = {
  name: "policy",
  summary: "say what a policy lets commands touch on this machine",
  about: "Says what a policy lets commands touch on this machine.",
  options: {},
  commands: [check, explain],
  examples: [...check.examples, ...explain.examples],
};
