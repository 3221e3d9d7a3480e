/** What became of a command. */
export interface ExecResult {
  /** The process's own exit code, 128 + N after death by signal N. */
  exitCode: number;
  /** Its stdout and stderr, joined in order of arrival. */
  output: string;
}

/** An exec's output up to now. */
export interface ExecSnapshot {
  /** The exit code, if the process has ended and its last event is among those asked for. */
  exitCode?: number;
  /** Its stdout and stderr, joined in order of arrival. */
  output: string;
}

/** How a stopped command ended. */
export interface TerminateResult {
  /** The process's own exit code, 128 + N after death by signal N. */
  exitCode: number;
  /** Whether it took SIGKILL. */
  forced: boolean;
}
