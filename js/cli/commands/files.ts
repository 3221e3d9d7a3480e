import type { FileInfo } from "../../core/sandpipe.js";
import { CONNECTION, connectToNamed } from "../agent.js";
import { command, type CommandGroup, UsageError } from "../command.js";
import { onEach } from "../each-id.js";
import { interruptible } from "../exit-decision.js";
import { escaped, json, jsonLine } from "../format.js";
import { positiveNumber } from "../option-values.js";
import type { Column } from "../table.js";

const PATHS =
  "A path is absolute, or relative to the agent's workspace. All is done with the rights that commands have.";

const ls = command({
  name: "ls",
  summary: "list a directory",
  usage: "[OPTIONS] [PATH]",
  about: `Lists what is in a directory, by name; without PATH, in the workspace. ${PATHS}`,
  options: {
    depth: { value: "LEVELS", help: "how many levels, up to 64 [default: 1]" },
    json: {
      help: "one JSON array of objects with name, path, type, size, mode, modTime, linkTarget",
    },
    ...CONNECTION,
  },
  operands: "[PATH]",
  examples: ["sandpipe files ls", "sandpipe files ls --depth 3 --json /etc | jq -r '.[].path'"],

  async run({ depth, json: asJson, ...values }, [path = "."]) {
    const options = depth === undefined ? {} : { depth: positiveNumber("--depth", depth) };
    const sandbox = await connectToNamed(values);
    return await interruptible(async ({ stdout }) => {
      const [root, files] = await Promise.all([
        sandbox.files.stat(path),
        sandbox.files.list(path, options),
      ]);
      await stdout.write(asJson ? json(files) : await listing(root.path, files));
      return undefined;
    });
  },
});

async function listing(root: string, files: readonly FileInfo[]): Promise<string> {
  // It knows the widths of all characters, which take a while to load.
  const { screenOf, table } = await import("../table.js");
  const above = root.replace(/\/*$/, "/");
  const columns: Column<FileInfo>[] = [
    { title: "TYPE", text: ({ type }) => type ?? "" },
    { title: "MODE", text: ({ mode }) => (mode === undefined ? "" : mode.toString(8)) },
    { title: "SIZE", text: ({ isDir, size }) => (isDir ? "" : String(size)) },
    { title: "CHANGED", text: ({ modTime }) => modTime.replace(/\.\d+/, "") },
    {
      title: "NAME",
      text: ({ path, linkTarget }) => {
        const name = path.startsWith(above) ? path.slice(above.length) : path;
        return linkTarget === undefined ? name : `${name} -> ${linkTarget}`;
      },
    },
  ];
  return table(columns, files, screenOf(process.stdout));
}

const cat = command({
  name: "cat",
  summary: "write files to stdout",
  usage: "[OPTIONS] PATH...",
  about: `Writes files to stdout, byte for byte, one after the other. ${PATHS}`,
  options: { ...CONNECTION },
  operands: "<PATH...>",
  examples: ["sandpipe files cat package.json | jq .version"],

  async run(values, paths) {
    const sandbox = await connectToNamed(values);
    return await interruptible(async ({ stdout }, signal) => {
      for (const path of paths) {
        const stream = sandbox.files.readStream(path, { signal });
        for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) {
          await stdout.write(chunk);
        }
      }
      return undefined;
    });
  },
});

const rm = command({
  name: "rm",
  summary: "remove files",
  usage: "[OPTIONS] PATH...",
  about: `Removes files, symbolic links and empty directories. ${PATHS}`,
  options: {
    recursive: { short: "r", help: "also directories with all that is in them" },
    ...CONNECTION,
  },
  operands: "<PATH...>",
  notes: `
Exit codes:
  0    all are removed
  1    one could not be removed; stderr says which and why
  2    the command line is wrong
  125  sandpipe itself failed; stderr says why
  130  Ctrl+C: it dies of SIGINT; 128 + N, of signal N, in the same way; some may have been removed
  141  stderr was closed
`,
  examples: ["sandpipe files rm out.log", "sandpipe files rm -r node_modules dist"],

  async run({ recursive, ...values }, paths) {
    if (paths.includes("")) throw new UsageError("PATH must not be empty");
    const { files } = await connectToNamed(values);
    return await interruptible((output) =>
      onEach(paths, output, (path) => files.remove(path, { recursive })),
    );
  },
});

const watch = command({
  name: "watch",
  summary: "show what changes in a directory",
  usage: "[OPTIONS] [PATH]",
  about:
    "Shows what changes in a directory, one change a line, up to Ctrl+C: add, change, remove, rename with both paths, or overflow, where " +
    `changes were too many and some were missed. Without PATH it is the workspace. ${PATHS}`,
  options: {
    recursive: { short: "r", help: "also in the directories below it" },
    ignore: {
      value: "PATTERN",
      multiple: true,
      help: "what to leave out, such as node_modules; repeatable",
    },
    json: { help: "one JSON object a line: type, path, to" },
    ...CONNECTION,
  },
  operands: "[PATH]",
  examples: [
    "sandpipe files watch -r --ignore node_modules src",
    "sandpipe files watch --json | jq -r 'select(.type == \"add\").path'",
  ],

  async run({ recursive, ignore, json: asJson, ...values }, [path = "."]) {
    const sandbox = await connectToNamed(values);
    return await interruptible(
      async ({ stdout }, signal) => {
        for await (const change of sandbox.files.watch(path, {
          recursive,
          ignore: [...ignore],
          signal,
        })) {
          const { type, path: changed, to } = change;
          const line = `${type} ${escaped(changed)}${to === undefined ? "" : ` -> ${escaped(to)}`}\n`;
          await stdout.write(asJson ? jsonLine(change) : line);
        }
        return undefined;
      },
      () => {
        sandbox.close();
      },
    );
  },
});

export const files: CommandGroup = {
  name: "files",
  summary: "files of the sandbox: ls, cat, rm, watch",
  about:
    "Lists, shows, removes and watches files of the sandbox. `sandpipe cp` copies them there and back.",
  options: {},
  commands: [ls, cat, rm, watch],
  examples: ["sandpipe files ls src", "sandpipe files watch -r src"],
};
