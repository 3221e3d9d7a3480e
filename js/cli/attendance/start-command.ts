import type { CreateExecRequest } from "../../core/sandpipe.js";
import type { Execs } from "../../execs.js";
import type { Terminal } from "./terminal.js";

/** What to run, where and how. */
export interface StartOptions {
  command: string;
  args: string[];
  cwd: string | undefined;
  user: string | undefined;
  env: Record<string, string>;
  /** Whether stdin is passed on. */
  interactive: boolean;
}

/** Starts what the options say, and gives its id. */
export async function startCommand(
  execs: Execs,
  options: StartOptions,
  terminal: Terminal | undefined,
): Promise<string> {
  const { command, args, cwd, user, env, interactive } = options;
  const request: CreateExecRequest = { command, args, env, interactive };
  if (cwd !== undefined) request.cwd = cwd;
  if (user !== undefined) request.user = user;
  if (terminal === undefined) return (await execs.create(request)).id;

  const { TERM: kind } = process.env;
  // What it writes is for this terminal to understand.
  const sameTerminal = kind === undefined ? env : { TERM: kind, ...env };
  const { id } = await execs.create({ ...request, env: sameTerminal, pty: true, autostart: false });
  await terminal.start(execs, id);
  return id;
}
