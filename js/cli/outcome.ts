import { constants } from "node:os";

/** What the program ends with. */
export interface Outcome {
  exitCode: number;
  /** What stderr says of it. */
  message?: string;
  /** The signal that it dies of, where a parent can see that; `exitCode` is what a shell makes of it. */
  signal?: NodeJS.Signals;
}

/** The exit code of a failure of its own, as `docker run`, `env` and `timeout` have it. */
export const OWN_FAILURE = 125;

/** The exit code where there is no such program, as a shell has it. */
export const NO_PROGRAM = 127;

/** The exit code where a command was left and goes on: 128 + SIGINT, as a shell has it. */
export const DETACHED = 130;

/** The exit code when the timeout has passed, as the `timeout` of the GNU coreutils has it. */
export const TIMED_OUT = 124;

/** The exit code when nobody reads the output any more: 128 + SIGPIPE, as a shell has it. */
export const OUTPUT_CLOSED = 141;

/** Those that ask a program to stop. */
export const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/** A signal that asks a program to stop. */
export type StopSignal = (typeof STOP_SIGNALS)[number];

/**
 * The outcome after a signal to stop: it dies of that, so that a shell's loop around it ends, too. Of SIGQUIT
 * it only has the exit code: to die of it leaves a memory dump.
 */
export function stoppedBy(signal: StopSignal): Outcome {
  const exitCode = 128 + constants.signals[signal];
  return signal === "SIGQUIT" ? { exitCode } : { exitCode, signal };
}

/** How something ended that was asked to stop. */
export interface Stopped {
  exitCode?: number;
  /** Whether it took SIGKILL, if that is known. */
  forced?: boolean;
}

/**
 * What became of something that was asked to stop, for people.
 *
 * @param graceMs How long it had after SIGTERM, in milliseconds.
 * @param atOnce Whether it was to be killed before that.
 */
export function describeStop(
  { exitCode, forced }: Stopped,
  graceMs: number,
  atOnce: boolean,
): string {
  if (forced === true) {
    return atOnce ? "killed" : `killed: it did not end within ${graceMs / 1000} s`;
  }
  if (exitCode === 143) return "stopped by SIGTERM";
  if (exitCode === 137) return "killed by SIGKILL";
  return exitCode === undefined ? "it has ended" : `it ended with exit code ${exitCode}`;
}

/**
 * Ends this process by a signal, as a shell expects of a program that was interrupted: it then ends the loop
 * or the script around it, too. Returns where that can't be: a container's first process is not ended by
 * its own signals, and Windows has none.
 */
export function dieOf(signal: NodeJS.Signals): void {
  if (process.platform === "win32") return;
  // What Node undoes only where it ends by itself: other programs may have these open, too.
  for (const name of ["stdin", "stdout", "stderr"] as const) setBlocking(name);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

function setBlocking(name: "stdin" | "stdout" | "stderr"): void {
  try {
    const { _handle: handle } = process[name] as {
      _handle?: { setBlocking?(blocking: boolean): void } | null;
    };
    handle?.setBlocking?.(true);
  } catch {
    // It is nothing that Node can open: nor has it changed it.
  }
}
