import { checkFields, checkSignal } from "../../arguments.js";
import { InvalidArgumentError } from "../../core/errors.js";
import type { AbortSignal } from "../../platform.js";
import { keepsErrors } from "../system-error.js";
import { checkPatterns } from "./exclude.js";

/** How to upload or download. */
export interface TransferOptions {
  /**
   * What to leave out of a directory: patterns of paths relative to it. `*` and `?` stand for characters of one name, `**` for any
   * number of names; a pattern without a slash, such as `node_modules`, fits a name at any depth. What is below a directory that is
   * left out is left out, too. Default: nothing.
   */
  exclude?: readonly string[] | undefined;
  /** The user to do it as in the sandbox: `user[:group]`, names or numeric ids; what is made there is that user's. Default: the agent's. */
  user?: string | undefined;
  /**
   * Called whenever more has been sent, or written, with how much that is in all. It begins at zero again where a connection broke and
   * all is begun again. What it throws ends the call.
   */
  onProgress?: ((progress: TransferProgress) => void) | undefined;
  /** Aborted: the call ends, and rejects with `InterruptedError`. Each file is there whole or as it was before. */
  signal?: AbortSignal | undefined;
}

/** How far a transfer has come. */
export interface TransferProgress {
  /** How many files. */
  files: number;
  /** How many bytes are in them. */
  bytes: number;
}

/** Options that have been checked. */
export interface Transfer {
  exclude: readonly string[];
  onProgress: (progress: TransferProgress) => void;
  signal: AbortSignal | undefined;
  /** Whose rights it is done with, for calls of files: they check it. */
  as: { user?: string };
}

const FIELDS = ["exclude", "user", "onProgress", "signal"];

/** @throws {InvalidArgumentError} Something is wrong with them. */
export function checkTransfer(options: TransferOptions | undefined): Transfer {
  const given = options ?? {};
  checkFields(given, FIELDS);
  const { exclude = [], user, onProgress = () => undefined, signal } = given;
  checkPatterns(exclude);
  if (typeof onProgress !== "function") {
    throw new InvalidArgumentError(
      `\`options.onProgress\` must be a function, but is ${typeof onProgress}`,
    );
  }
  return {
    exclude,
    onProgress: keepsErrors(onProgress),
    signal: checkSignal(signal === undefined ? {} : { signal }),
    as: user === undefined ? {} : { user },
  };
}
