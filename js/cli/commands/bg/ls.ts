import type { BackgroundProcess } from "../../../background.js";
import { age } from "../../screen/age.js";
import { command } from "../../command-line/command.js";
import { json } from "../../screen/json.js";
import { onTarget } from "../../target/on-target.js";
import { RUNTIME } from "../../target/runtime.js";
import { idColumn } from "../../screen/short-id.js";
import { type Column, screenOf, table } from "../../screen/table.js";

export const ls = command({
  name: "ls",
  summary: "list the processes",
  usage: "[OPTIONS]",
  about: "Lists the processes, newest first, also those that have ended. AGE is since the start.",
  options: {
    json: {
      help:
        "one JSON array of objects with id, name, pid, status, exitCode, script, startedAt, exitedAt, " +
        "outputDir, stdoutPath, stderrPath",
    },
    ...RUNTIME,
  },
  examples: ["sandpipe bg ls", "sandpipe bg ls --json | jq -r '.[] | select(.name == \"dev\").id'"],

  async run(values) {
    return await onTarget(values, async (processes, { stdout }) => {
      const all = await processes.list();
      await stdout.write(values.json ? json(all) : listing(all));
      return undefined;
    });
  },
});

function listing(processes: readonly BackgroundProcess[]): string {
  const screen = screenOf(process.stdout);
  const now = new Date();
  const columns: Column<BackgroundProcess>[] = [
    idColumn(processes, screen),
    {
      title: "STATUS",
      text: ({ status }) => status,
      colour: ({ status }) => COLOURS[status],
    },
    { title: "EXIT", text: ({ exitCode }) => (exitCode === undefined ? "" : String(exitCode)) },
    { title: "AGE", text: ({ startedAt }) => age(new Date(startedAt), now) },
    { title: "NAME", text: ({ name = "" }) => name },
    { title: "SCRIPT", text: ({ script }) => script },
  ];
  return table(columns, processes, screen);
}

const COLOURS = { running: "32", exited: undefined, killed: "33", failed: "31" } as const;
