/** How something ended that was told to stop. */
export interface Stopped {
  exitCode?: number;
  /** Whether it took SIGKILL, if that is known. */
  forced?: boolean;
}

/**
 * What became of something that was told to stop, for people.
 *
 * @param graceMs How long it had after SIGTERM, in milliseconds.
 * @param hurried Whether it was to be killed before that.
 */
export function described(
  { exitCode, forced }: Stopped,
  graceMs: number,
  hurried: boolean,
): string {
  if (forced === true) {
    return hurried ? "killed" : `killed: it did not end within ${graceMs / 1000} s`;
  }
  if (exitCode === 143) return "stopped by SIGTERM";
  if (exitCode === 137) return "killed by SIGKILL";
  return exitCode === undefined ? "it has ended" : `it ended with exit code ${exitCode}`;
}
