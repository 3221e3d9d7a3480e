import type { CreateTokenOptions, TokenInfo } from "../../core/sandpipe.js";
import { CONNECTION, connectToNamed } from "../agent.js";
import { command, type CommandGroup, UsageError } from "../command.js";
import { onEach } from "../each-id.js";
import { interruptible } from "../exit-decision.js";
import { errorLine, json } from "../format.js";
import { byPrefix, execsByPrefix, idColumn, idLines } from "../ids.js";
import { path, timeLimit } from "../option-values.js";
import type { Column } from "../table.js";

const create = command({
  name: "create",
  summary: "create a scoped token and print it",
  usage: "[OPTIONS]",
  about:
    "Creates a token that may do what the options say, and nothing else, and prints it. The agent keeps only a hash: " +
    "the token is not shown again. It needs the admin token. ID may be the beginning of one.",
  options: {
    "expires-in": { value: "TIME", help: "how long it is valid, at most 24 days [default: 1h]" },
    "read-exec": { value: "ID", multiple: true, help: "a command that it may read; repeatable" },
    "type-into": {
      value: "ID",
      multiple: true,
      help: "a command that it may type into, and read; repeatable",
    },
    "create-commands": {
      help: "it may create commands under the agent's policy, and read, type into and stop these",
    },
    "read-files": { value: "DIR", help: "the agent's directory below which it may read files" },
    "write-files": { value: "DIR", help: "the directory below which it may write files" },
    json: { help: "print a JSON object with id, token, expiresAt" },
    ...CONNECTION,
  },
  notes: `
A token ends with its agent. DIR is relative to the agent's workspace unless it is absolute, and its path must have
no symbolic link; links below it do not lead out.
`,
  examples: [
    "sandpipe token create --type-into 3f9c04 --expires-in 8h",
    "sandpipe token create --read-files reports",
  ],

  async run(values) {
    const options: CreateTokenOptions = {
      expiresInMs: timeLimit("--expires-in", values["expires-in"]) ?? 3_600_000,
    };
    const readFiles = path("--read-files", values["read-files"]);
    const writeFiles = path("--write-files", values["write-files"]);
    if (readFiles !== undefined) options.readFiles = readFiles;
    if (writeFiles !== undefined) options.writeFiles = writeFiles;
    if (values["create-commands"]) options.createCommands = true;
    const { execs, tokens } = await connectToNamed(values);
    return await interruptible(async ({ stdout, stderr }) => {
      const find = execsByPrefix(execs);
      const ids = (written: readonly string[]): Promise<string[]> =>
        Promise.all(written.map(async (id) => (await find(id)).id));
      options.readExecs = await ids(values["read-exec"]);
      options.typeInto = await ids(values["type-into"]);
      const created = await tokens.create(options);
      await stdout.write(values.json ? json(created) : `${created.token}\n`);
      const { id, expiresAt } = created;
      const revoke = `\`sandpipe token revoke ${id}\` revokes it`;
      await stderr.write(errorLine(`the token expires at ${expiresAt}; ${revoke}.`));
      return undefined;
    });
  },
});

const ls = command({
  name: "ls",
  summary: "list the valid scoped tokens",
  usage: "[OPTIONS]",
  about: "Lists the scoped tokens that are valid, newest first, without the tokens themselves.",
  options: {
    quiet: { short: "q", help: "only the ids" },
    json: {
      help:
        "one JSON array of objects with id, createdAt, expiresAt, readExecs, typeInto, createCommands, readFiles, " +
        "writeFiles",
    },
    ...CONNECTION,
  },
  examples: ["sandpipe token ls"],

  async run(values) {
    const { tokens } = await connectToNamed(values);
    return await interruptible(async ({ stdout }) => {
      const all = await tokens.list();
      if (values.quiet) await stdout.write(idLines(all));
      else await stdout.write(values.json ? json(all) : await listing(all));
      return undefined;
    });
  },
});

async function listing(tokens: readonly TokenInfo[]): Promise<string> {
  // It knows the widths of all characters, which take a while to load.
  const { age, screenOf, table } = await import("../table.js");
  const screen = screenOf(process.stdout);
  const now = new Date();
  const columns: Column<TokenInfo>[] = [
    idColumn(tokens, screen),
    { title: "AGE", text: ({ createdAt }) => age(new Date(createdAt), now) },
    { title: "EXPIRES", text: ({ expiresAt }) => expiresAt },
    { title: "SCOPES", text: scopes },
  ];
  return table(columns, tokens, screen);
}

/** What a token may do, as options of `create`. */
function scopes(token: TokenInfo): string {
  const { readExecs = [], typeInto = [], createCommands = false, readFiles, writeFiles } = token;
  return [
    ...readExecs.map((id) => `--read-exec ${id}`),
    ...typeInto.map((id) => `--type-into ${id}`),
    ...(createCommands ? ["--create-commands"] : []),
    ...(readFiles === undefined ? [] : [`--read-files ${readFiles}`]),
    ...(writeFiles === undefined ? [] : [`--write-files ${writeFiles}`]),
  ].join(" ");
}

const revoke = command({
  name: "revoke",
  summary: "revoke scoped tokens",
  usage: "[OPTIONS] ID...",
  about:
    "Revokes tokens by their ids. Streams and WebSockets that they have open end; commands that they have created go on. " +
    "ID may be the beginning of one.",
  options: CONNECTION,
  operands: "<ID...>",
  offers: "token ls -q",
  examples: ["sandpipe token revoke 5b1f02"],

  async run(values, ids) {
    // An error would show it.
    if (ids.some((id) => id.startsWith("sandpipe_"))) {
      throw new UsageError(
        "name the id of a token, not the token: `sandpipe token ls` lists the ids",
      );
    }
    const { tokens } = await connectToNamed(values);
    return await interruptible(async (output) => {
      const all = await tokens.list();
      return await onEach(ids, output, async (written) => {
        const { id } = byPrefix(all, written, { kind: "token", list: "sandpipe token ls" });
        await tokens.revoke(id);
      });
    });
  },
});

export const token: CommandGroup = {
  name: "token",
  summary: "scoped tokens, which may do a part of all for a while",
  about:
    "Creates, lists and revokes scoped tokens, for pages and people that are to do a part of what the admin token may.",
  options: {},
  commands: [create, ls, revoke],
  examples: ["sandpipe token create --type-into 3f9c04 --expires-in 8h", "sandpipe token ls"],
};
