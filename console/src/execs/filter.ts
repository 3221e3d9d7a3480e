import type { ExecItem } from "sandpipe";
import { lineOf } from "./command-line.js";
import { hasEnded, isRunning } from "./status.js";

/** Which execs are shown. */
export const KINDS = { all: "All", running: "Running", ended: "Ended", failed: "Failed" };

export type Kind = keyof typeof KINDS;

export interface Filter {
  kind: Kind;
  /** In the command, the id or the pid; in any case of letters. */
  text: string;
}

export function passes(item: ExecItem, { kind, text }: Filter): boolean {
  return isOf(item, kind) && includes(item, text.trim().toLowerCase());
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

function includes(item: ExecItem, text: string): boolean {
  return text === "" || `${lineOf(item)}\n${item.id}\n${item.pid}`.toLowerCase().includes(text);
}
