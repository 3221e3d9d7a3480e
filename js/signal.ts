import { InvalidArgumentError } from "./errors.js";
import type { StreamOptions } from "./types.js";

/** The signal of a stream's options. */
export function checkSignal(opts: StreamOptions | undefined): AbortSignal | undefined {
  const signal: unknown = opts?.signal;
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw new InvalidArgumentError("`opts.signal` must be an AbortSignal, but is " + typeof signal);
}
