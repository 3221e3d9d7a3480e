import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

/** Receives each line of an agent's log, without its end. */
export type OnLog = (line: string) => void;

/** Passes on each line of an agent's log. */
export function followLog(stderr: Readable, onLog: OnLog): void {
  createInterface({ input: stderr }).on("line", onLog);
}

/** Warns of a line by `process.emitWarning`. */
export function warnOf(line: string): void {
  process.emitWarning(line, "SandpipeWarning");
}
