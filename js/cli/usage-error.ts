/** The command line is wrong. The message says what, and where to read more. */
export class UsageError extends Error {
  override readonly name = "UsageError";

  constructor(what: string, help: "sandpipe --help" | "sandpipe run --help") {
    super(`${what.replace(/\.$/, "")}. See \`${help}\`.`);
  }
}
