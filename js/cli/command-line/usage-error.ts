/** The command line is wrong. The message says what; where to read more is added to it. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
