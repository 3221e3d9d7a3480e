import type { CreateExecRequest } from "../core/sandpipe.js";
import type { Execs } from "../execs.js";
import type { RunOptions } from "./arguments.js";
import type { Terminal } from "./terminal.js";

/** Starts what the options say, and gives its id. */
export async function startCommand(
  execs: Execs,
  options: RunOptions,
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
