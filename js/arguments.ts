import { InvalidArgumentError } from "./errors.js";
import type { StreamOptions } from "./types.js";

/** The signal of a stream's options. */
export function checkSignal(opts: StreamOptions | undefined): AbortSignal | undefined {
  const signal: unknown = opts?.signal;
  if (signal === undefined || isSignal(signal)) return signal;
  throw new InvalidArgumentError("`opts.signal` must be an AbortSignal, but is " + typeof signal);
}

/** By its shape: another realm's is none of this one's class. */
function isSignal(value: unknown): value is AbortSignal {
  if (typeof value !== "object" || value === null) return false;
  const { aborted, addEventListener } = value as Partial<AbortSignal>;
  return typeof aborted === "boolean" && typeof addEventListener === "function";
}
