import type { OutputType } from "sandpipe";
import type { RunState } from "../runs/state.js";

/** A piece of a run's output: neighbours of the same stream are one. */
export interface OutputChunk {
  type: OutputType;
  output: string;
}

/** A script that was run in a session, and what has become of it. */
export interface Run {
  number: number;
  script: string;
  pieces: readonly OutputChunk[];
  /** Characters at the beginning that are not kept. */
  dropped: number;
  outcome:
    | { state: "running" }
    /** It was told to end, or killed. */
    | { state: "stopping"; killing: boolean }
    | { state: "ended"; exitCode: number }
    | { state: "stopped"; exitCode: number; forced: boolean }
    | { state: "failed"; error: unknown };
}

/** Whether it has not ended, as far as is known. */
export function goesOn({ outcome: { state } }: Run): boolean {
  return state === "running" || state === "stopping";
}

/** The state to be shown; none where an error tells more. */
export function stateOfRun({ outcome }: Run, isLive: boolean): RunState | undefined {
  switch (outcome.state) {
    case "running":
      return { kind: isLive ? "running" : "unknown" };
    case "stopping":
      return isLive ? { kind: "stopping", killing: outcome.killing } : { kind: "unknown" };
    case "ended":
      return outcome.exitCode === 0
        ? { kind: "succeeded" }
        : { kind: "failed", code: outcome.exitCode };
    case "stopped":
      return { kind: "stopped", code: outcome.exitCode, by: "you", forced: outcome.forced };
    case "failed":
      return undefined;
  }
}

/** How many characters of a run's output are kept. */
const MAX_CHARS = 200_000;

/** A run's output with another piece at its end; of a long one the newest part. */
export function withOutput(run: Run, added: OutputChunk): Run {
  if (added.output === "") return run;
  const pieces = [...run.pieces];
  const last = pieces.at(-1);
  if (last?.type === added.type)
    pieces[pieces.length - 1] = { ...last, output: last.output + added.output };
  else pieces.push(added);

  let excess = pieces.reduce((sum, { output }) => sum + output.length, 0) - MAX_CHARS;
  let dropped = run.dropped;
  for (let first = pieces[0]; excess > 0 && first !== undefined; first = pieces[0]) {
    const cut = Math.min(excess, first.output.length);
    if (cut === first.output.length) pieces.shift();
    else pieces[0] = { ...first, output: first.output.slice(cut) };
    excess -= cut;
    dropped += cut;
  }
  return { ...run, pieces, dropped };
}

/** How many runs of a session are kept. */
const MAX_RUNS = 50;

/** The runs with another one at their end; beyond so many, the first that have ended go. */
export function withRun(runs: readonly Run[], run: Run): readonly Run[] {
  let excess = runs.length + 1 - MAX_RUNS;
  return [...runs.filter((run) => goesOn(run) || excess-- <= 0), run];
}
