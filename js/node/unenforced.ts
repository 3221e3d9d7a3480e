import { AgentError } from "../core/errors.js";

/** Matches the agent's message where this machine, or this workspace, can't be confined; it has no code for that. */
const UNENFORCED =
  /bubblewrap|namespaces?\b|--workspace DIR|files be watched|fs\.inotify|it has no effect/;

/** Adds the way on without a policy to an error by which one can't be enforced; returns others as they are. */
export function withWayOn(cause: unknown, wayOn: string): unknown {
  if (!(cause instanceof AgentError && UNENFORCED.test(cause.message))) return cause;
  return new AgentError(`${cause.message.replace(/\.?$/, ".")} ${wayOn}`, { cause });
}
