import type { ExecItem } from "../../core/sandpipe.js";
import { command } from "../command-line/command.js";
import { CONNECTION, connectToNamed } from "../target/connection.js";
import { interruptible } from "../ending/interruptible.js";
import { json } from "../screen/json.js";
import { idColumn } from "../screen/short-id.js";
import { type Column, screenOf, table } from "../screen/table.js";

export const ps = command({
  name: "ps",
  summary: "list the commands of an agent",
  usage: "[OPTIONS]",
  about:
    "Lists the commands of an agent, newest first, also those that have ended. A terminal is shown the " +
    "beginnings of the ids, which all commands take as well, in lines that fit.",
  options: {
    json: {
      help: "one JSON array of objects with id, command, args, status, exitCode, pid, pty, user",
    },
    ...CONNECTION,
  },
  examples: ["sandpipe ps", "sandpipe ps --json | jq -r '.[] | select(.status == \"RUNNING\").id'"],

  async run(values) {
    const { execs } = await connectToNamed(values);
    return await interruptible(async ({ stdout }) => {
      const items = await execs.list();
      await stdout.write(values.json ? json(items) : listing(items));
      return undefined;
    });
  },
});

function listing(items: readonly ExecItem[]): string {
  const screen = screenOf(process.stdout);
  const columns: Column<ExecItem>[] = [
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
    { title: "PID", text: ({ pid }) => (pid === 0 ? "" : String(pid)) },
    { title: "TTY", text: ({ pty }) => (pty ? "yes" : "") },
    { title: "COMMAND", text: ({ command, args }) => [command, ...args].join(" ") },
  ];
  return table(columns, items, screen);
}
