import { readFile } from "node:fs/promises";

import { connect } from "../../node.js";
import type { Sandbox } from "../../sandbox.js";
import type { Options, Values } from "../command-line/command.js";
import { UsageError } from "../command-line/usage-error.js";

/** The options that name an agent. */
export const CONNECTION = {
  url: { value: "URL", help: "the agent's address [default: $SANDPIPE_URL]" },
  "token-file": {
    value: "FILE",
    help: "the file with the agent's token [default: the token itself in $SANDPIPE_TOKEN]",
  },
} as const satisfies Options;

/** Where an agent is, and the token to use it with. */
export interface NamedAgent {
  url: string;
  token: string | undefined;
}

/** The agent that the options or the environment name; undefined where none is named. */
export async function agentNamed(
  values: Values<typeof CONNECTION>,
): Promise<NamedAgent | undefined> {
  const { url = setting("SANDPIPE_URL"), "token-file": tokenFile } = values;
  if (url === undefined) {
    if (tokenFile === undefined) return undefined;
    throw new UsageError(
      "--token-file needs the address of its agent: give --url too, or set SANDPIPE_URL",
    );
  }
  const token = tokenFile === undefined ? setting("SANDPIPE_TOKEN") : await readToken(tokenFile);
  return { url, token };
}

/** Connects to the agent that is named, if one is. */
export async function connectIfNamed(
  values: Values<typeof CONNECTION>,
): Promise<Sandbox | undefined> {
  const named = await agentNamed(values);
  if (named === undefined) return undefined;
  const { url, token } = named;
  return await connect(token === undefined ? { url } : { url, token });
}

/**
 * The same, for what needs an agent that exists.
 *
 * @throws {UsageError} None is named.
 */
export async function connectToNamed(values: Values<typeof CONNECTION>): Promise<Sandbox> {
  const sandbox = await connectIfNamed(values);
  if (sandbox !== undefined) return sandbox;
  throw new UsageError(
    "no agent is named: start one with `sandpipe agent`, then give --url or set SANDPIPE_URL",
  );
}

async function readToken(path: string): Promise<string> {
  let text;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the token file can't be read: ${reason}`, { cause });
  }
  const token = text.trim();
  if (token === "") throw new Error(`the token file ${path} is empty: put the agent's token in it`);
  return token;
}

/** What the environment says; empty is unset. */
function setting(name: string): string | undefined {
  const value = process.env[name];
  return value === "" ? undefined : value;
}
