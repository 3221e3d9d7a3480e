import type { ExecStdout } from "./core/sandpipe.js";

/** A piece of a command's output: text, or bytes where they were asked for with `encoding: "bytes"`. */
export type OutputEvent<T extends string | Uint8Array = string> = Omit<ExecStdout, "output"> & {
  /** What the process wrote. */
  output: T;
};

/** How many numbers the core has for each event. */
const NUMBERS = 5;

/**
 * Makes events of what the core hands over (`Shim` there says what that is).
 *
 * They are made here because a field that crosses by itself costs more than an event; and by hand,
 * which takes a fifth of what `JSON.parse` takes.
 */
export function makeEvents<T extends string | Uint8Array>(
  outputs: T,
  timestamps: string,
  numbers: Float64Array,
): OutputEvent<T>[] {
  const events: OutputEvent<T>[] = [];
  let outputStart = 0;
  let timestampStart = 0;
  for (let at = 0; at < numbers.length; at += NUMBERS) {
    const outputEnd = numbers[at] ?? 0;
    const timestampEnd = numbers[at + 1] ?? NaN;
    const exitCode = numbers[at + 4] ?? NaN;
    const event: OutputEvent<T> = {
      type: numbers[at + 3] === 0 ? "stdout" : "stderr",
      output: outputs.slice(outputStart, outputEnd) as T,
      sequence: numbers[at + 2] ?? 0,
    };
    if (!Number.isNaN(timestampEnd)) {
      event.timestamp = timestamps.slice(timestampStart, timestampEnd);
      timestampStart = timestampEnd;
    }
    if (!Number.isNaN(exitCode)) event.exitCode = exitCode;
    events.push(event);
    outputStart = outputEnd;
  }
  return events;
}
