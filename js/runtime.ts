import type { AbortSignal } from "./platform.js";

/**
 * A runtime's `run` for scripts that leave nothing behind, so that what is kept of each may go.
 *
 * @internal
 */
export const RUN_AND_FORGET = Symbol("sandpipe.runAndForget");

/** What became of a script. */
export interface RunResult {
  /** The shell's own exit code, 128 + N after death by signal N. */
  exitCode: number;
  /** Its stdout and stderr, joined in order of arrival. */
  output: string;
}

/** Something with a POSIX shell: a sandbox, a session, this machine, another one over SSH. */
export interface Runtime {
  /**
   * Runs a script to its end, once. `output` is its stdout and stderr, joined; its stdin is empty. It
   * resolves whatever the exit code is, and rejects where there is none to be had. What it rejects with
   * has `mayHaveRun: false` only where nothing of the script was run.
   *
   * @param options `signal`: aborted, the script is stopped with all that it started, and the call
   * rejects.
   */
  run(script: string, options?: { signal?: AbortSignal }): Promise<RunResult>;
}
