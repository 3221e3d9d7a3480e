import type { Background } from "../background.js";
import type { BackgroundProcess, ExecItem } from "../core/sandpipe.js";
import type { Execs } from "../execs.js";
import { escaped } from "./format.js";
import type { Column, Screen } from "./table.js";

/** What was written is the id of none, or the beginning of several. The message has it. */
export class WrongIdError extends Error {
  override readonly name = "WrongIdError";
}

/**
 * The one thing whose id is, or begins with, what was written.
 *
 * @param kind What the things are, for people.
 * @param list The command that lists them.
 * @throws {WrongIdError} There is none, or more than one.
 */
export function byPrefix<T extends { id: string }>(
  things: readonly T[],
  written: string,
  { kind, list }: { kind: string; list: string },
): T {
  const exact = things.find(({ id }) => id === written);
  if (exact !== undefined) return exact;
  const [found, ...others] = things.filter(({ id }) => written !== "" && id.startsWith(written));
  if (found === undefined) {
    throw new WrongIdError(
      `no ${kind} has the id "${written}": \`${list}\` lists those that there are.`,
    );
  }
  if (others.length === 0) return found;
  const count = others.length + 1;
  throw new WrongIdError(
    `"${written}" is ambiguous: the ids of ${count} ${kind}s begin so. Write more.`,
  );
}

/** Finds execs of an agent by their ids or the beginnings of these; it asks for the list once. */
export function execsByPrefix(execs: Execs): (written: string) => Promise<ExecItem> {
  let items: Promise<ExecItem[]> | undefined;
  return async (written) => {
    items ??= execs.list();
    return byPrefix(await items, written, { kind: "exec", list: "sandpipe ps" });
  };
}

/** Finds background processes by their ids or the beginnings of these; it asks for the list once. */
export function processesByPrefix(
  background: Background,
): (written: string) => Promise<BackgroundProcess> {
  let processes: Promise<BackgroundProcess[]> | undefined;
  return async (written) => {
    processes ??= background.list();
    return byPrefix(await processes, written, { kind: "process", list: "sandpipe bg ls" });
  };
}

/** How much of an id a screen shows, at least: as of a container's. */
const MIN_ID_LENGTH = 12;

/** The column of ids: as much of each as a person needs, and elsewhere than on a screen all. */
export function idColumn<T extends { id: string }>(
  items: readonly T[],
  { width }: Screen,
): Column<T> {
  const shown = width === undefined ? Infinity : shortLength(items.map(({ id }) => id));
  return { title: "ID", text: ({ id }) => id.slice(0, shown) };
}

/** The whole ids, a line for each. */
export function idLines(items: readonly { id: string }[]): string {
  return items.map(({ id }) => `${escaped(id)}\n`).join("");
}

/** How much of each id has to be shown for none to be taken for another. */
function shortLength(ids: readonly string[]): number {
  const sorted = [...ids].sort();
  const shared = sorted.map((id, index) => sharedLength(id, sorted[index + 1] ?? ""));
  return shared.reduce((most, length) => Math.max(most, length + 1), MIN_ID_LENGTH);
}

function sharedLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}
