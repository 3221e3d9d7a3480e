import type { ExecItem } from "../../core/sandpipe.js";
import { CONNECTION, connectToNamed } from "../agent.js";
import { command, UsageError } from "../command.js";
import { interruptible } from "../exit-decision.js";
import { idColumn, idLines } from "../ids.js";
import { positiveNumber } from "../option-values.js";
import { errorLine, json } from "../format.js";
import type { Column } from "../table.js";

/** How many commands are shown, besides those that run. */
const LIMIT = 20;

export const ps = command({
  name: "ps",
  summary: "list the commands of an agent",
  usage: "[OPTIONS]",
  about:
    "Lists the commands of an agent, newest first: all that have not ended, and of the others the newest. AGE " +
    "is since the creation. A terminal is shown the beginnings of the ids, which all commands take as " +
    "well, in lines that fit. A line on stderr says which policy the agent has.",
  options: {
    all: { short: "a", help: "all of them" },
    limit: {
      value: "NUMBER",
      help: `the newest so many, and those that have not ended [default: ${LIMIT}; with --json: all]`,
    },
    quiet: { short: "q", help: "only the ids" },
    json: {
      help:
        "one JSON array of objects with id, command, args, argsTruncated, status, exitCode, pid, pty, user, " +
        "createdAt, startedAt, endedAt",
    },
    ...CONNECTION,
  },
  examples: [
    "sandpipe ps",
    "sandpipe ps --all",
    "sandpipe ps --json | jq -r '.[] | select(.status == \"RUNNING\").id'",
  ],

  async run(values) {
    const { all } = values;
    if (all && values.limit !== undefined)
      throw new UsageError("--all and --limit exclude each other");
    const given = values.limit === undefined ? undefined : positiveNumber("--limit", values.limit);
    const limit = all ? Infinity : (given ?? (values.json ? Infinity : LIMIT));
    const sandbox = await connectToNamed(values);
    return await interruptible(async ({ stdout, stderr }) => {
      const [items, policy] = await Promise.all([
        sandbox.execs.list(),
        // The list is worth more than what else is not to be had.
        values.json || values.quiet ? undefined : sandbox.policy().catch(() => undefined),
      ]);
      const shown = items.filter((item, index) => index < limit || !hasEnded(item));
      if (values.quiet) {
        await stdout.write(idLines(shown));
        return undefined;
      }
      await stdout.write(values.json ? json(shown) : await listing(shown, items));
      if (policy !== undefined) await stderr.write(errorLine(policyLine(policy)));
      const left = items.length - shown.length;
      if (left > 0) await stderr.write(errorLine(`${left} more have ended: --all shows them.`));
      return undefined;
    });
  },
});

function policyLine(policy: string): string {
  const meaning = policy === "open" ? ": commands have the agent's rights" : "";
  return `the agent's policy is ${policy}${meaning}.`;
}

function hasEnded({ status }: ExecItem): boolean {
  return status === "EXITED" || status === "STOPPED";
}

/** The table of some of all items. */
async function listing(shown: readonly ExecItem[], items: readonly ExecItem[]): Promise<string> {
  // It knows the widths of all characters, which take a while to load.
  const { age, screenOf, table } = await import("../table.js");
  const screen = screenOf(process.stdout);
  const now = new Date();
  const columns: Column<ExecItem>[] = [
    // An id that is shown is nobody else's.
    idColumn(items, screen),
    {
      title: "STATUS",
      text: ({ status }) => status.toLowerCase(),
      colour: ({ status }) => (status === "RUNNING" ? "32" : undefined),
    },
    {
      title: "EXIT",
      text: ({ exitCode }) => (exitCode < 0 ? "" : String(exitCode)),
      colour: ({ exitCode }) => (exitCode > 0 ? "31" : undefined),
    },
    {
      title: "AGE",
      text: ({ createdAt }) => (createdAt === undefined ? "" : age(new Date(createdAt), now)),
    },
    { title: "PID", text: ({ pid }) => (pid === 0 ? "" : String(pid)) },
    { title: "TTY", text: ({ pty }) => (pty ? "yes" : "") },
    {
      title: "COMMAND",
      text: ({ command, args, argsTruncated = false }) =>
        [command, ...args].join(" ") + (argsTruncated ? "…" : ""),
    },
  ];
  return table(columns, shown, screen);
}
