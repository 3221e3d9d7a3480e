import type { ExecItem } from "sandpipe";
import { lineOf } from "./command-line.js";
import { hasEnded, isRunning } from "./status.js";

/** Which runs are shown. */
export const KINDS = { all: "All", running: "Running", failed: "Failed", ended: "Ended" };

export type Kind = keyof typeof KINDS;

export interface Filter {
  kind: Kind;
  /** In the command, the id or the pid; in any case of letters. */
  text: string;
}

/**
 * The runs that a filter lets through.
 *
 * @param found Those in whose output the text was found: they pass, too.
 */
export function filtered(
  items: readonly ExecItem[],
  { kind, text }: Filter,
  found?: ReadonlyMap<string, string>,
): readonly ExecItem[] {
  const wanted = text.trim().toLowerCase();
  if (kind === "all" && wanted === "") return items;
  return items.filter(
    (item) =>
      isOf(item, kind) &&
      (wanted === "" || searched(item).includes(wanted) || found?.has(item.id) === true),
  );
}

function isOf(item: ExecItem, kind: Kind): boolean {
  switch (kind) {
    case "all":
      return true;
    case "running":
      return isRunning(item);
    case "ended":
      return hasEnded(item);
    case "failed":
      return hasEnded(item) && item.exitCode !== 0;
  }
}

/** It is asked for with each key that is typed. */
const texts = new WeakMap<ExecItem, string>();

function searched(item: ExecItem): string {
  let text = texts.get(item);
  if (text === undefined) {
    text = `${lineOf(item)}\n${item.args.join(" ")}\n${item.id}\n${item.pid}`.toLowerCase();
    texts.set(item, text);
  }
  return text;
}
