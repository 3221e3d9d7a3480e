import type { Execs } from "../../execs.js";

/** The sequence number of the newest piece of an exec's output; 0 while there is none. */
export async function newestSequence(execs: Execs, id: string): Promise<number> {
  const { output, exitCode } = await execs.getOutput(id, -1);
  // A stream would wait for the first one.
  if (output === "" && exitCode === undefined) return 0;
  for await (const { sequence } of execs.streamOutput(id, -1)) return sequence;
  return 0;
}
