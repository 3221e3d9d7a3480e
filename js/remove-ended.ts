// Made of list(), kill() and delete() alone, and here rather than in the core, which every page downloads.
import { checkFields } from "./arguments.js";
import type { ExecItem } from "./core/sandpipe.js";
import { HttpError, InvalidArgumentError } from "./core/errors.js";

/** Which of the commands that have ended are removed. */
export interface RemoveOptions {
  /**
   * Those that ended before, by the agent's clock: a date, the text of one, or milliseconds since 1970. What an
   * agent does not tell the end of stays.
   */
  endedBefore?: Date | string | number;
  /** How many stay at least, the last to end. Default: 0. */
  keep?: number;
}

/** How many are deleted at once. */
const MAX_AT_ONCE = 8;

/** What it takes of an agent's execs. */
interface Execs {
  list(): Promise<ExecItem[]>;
  kill(id: string, signal?: string): Promise<void>;
  delete(id: string): Promise<void>;
}

/** Deletes execs that have ended and have no process left, the first to end first, and resolves their ids. */
export async function removeEnded(execs: Execs, options: RemoveOptions = {}): Promise<string[]> {
  const choose = choice(options);
  const left = choose(await execs.list()).values();
  const removed: string[] = [];
  let failed = false;
  const work = async (): Promise<void> => {
    for (const id of left) {
      try {
        if (await hasProcesses(execs, id)) continue;
        await execs.delete(id);
        removed.push(id);
      } catch (error) {
        // Somebody else was faster.
        if (error instanceof HttpError && error.status === 404) continue;
        failed = true;
        throw error;
      }
      if (failed) return;
    }
  };
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, work));
  return removed;
}

/** Whether something that the command started lives on in its process group: a delete would kill it. */
async function hasProcesses(execs: Execs, id: string): Promise<boolean> {
  try {
    // It only asks (POSIX, kill, "the null signal").
    await execs.kill(id, "0");
    return true;
  } catch (error) {
    if (error instanceof HttpError && (error.status === 404 || error.status === 409)) return false;
    throw error;
  }
}

/** Which of some execs are to go, the first to end first. */
function choice(options: RemoveOptions): (items: readonly ExecItem[]) => string[] {
  const given: unknown = options;
  if (typeof given !== "object" || given === null) {
    throw new InvalidArgumentError(`\`options\` must be an object, but is ${String(given)}`);
  }
  checkFields(options, ["endedBefore", "keep"]);
  const { endedBefore, keep = 0 } = options;
  if (!Number.isSafeInteger(keep) || keep < 0) {
    throw new InvalidArgumentError(
      `\`options.keep\` must be a whole number, 0 or more, but is ${shown(keep)}`,
    );
  }
  const before = endedBefore === undefined ? undefined : moment(endedBefore);
  return (items) => {
    const ended = items
      .filter(({ status }) => status === "EXITED" || status === "STOPPED")
      // The list begins with the newest.
      .reverse()
      .map(({ id, endedAt }) => ({ id, time: endedAt === undefined ? NaN : Date.parse(endedAt) }))
      // Those of which the agent does not tell when they ended come before the others.
      .sort((one, other) => orderOf(one.time) - orderOf(other.time));
    return ended
      .slice(0, Math.max(0, ended.length - keep))
      .filter(({ time }) => before === undefined || time < before)
      .map(({ id }) => id);
  };
}

/** A number to sort by: infinite ones have no difference. */
function orderOf(time: number): number {
  return Number.isNaN(time) ? -Number.MAX_VALUE : time;
}

/** Milliseconds since 1970. */
function moment(value: unknown): number {
  const time =
    value instanceof Date || typeof value === "string" || typeof value === "number"
      ? new Date(value).getTime()
      : NaN;
  if (!Number.isNaN(time)) return time;
  throw new InvalidArgumentError(
    "`options.endedBefore` must be a Date, the text of one like 2026-01-31T12:00:00Z, or milliseconds since 1970, " +
      `but is ${shown(value)}`,
  );
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
