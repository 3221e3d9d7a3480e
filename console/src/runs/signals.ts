/** Those that commands usually die of, by their numbers in Linux. */
const NAMES: Readonly<Partial<Record<number, string>>> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  6: "SIGABRT",
  7: "SIGBUS",
  8: "SIGFPE",
  9: "SIGKILL",
  11: "SIGSEGV",
  13: "SIGPIPE",
  14: "SIGALRM",
  15: "SIGTERM",
  24: "SIGXCPU",
  25: "SIGXFSZ",
  31: "SIGSYS",
};

/** The signal that an exit code tells of: 128 + N. */
export function signalName(exitCode: number): string | undefined {
  return NAMES[exitCode - 128];
}
