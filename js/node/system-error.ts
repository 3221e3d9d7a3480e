import { SystemError } from "../core/errors.js";

/** How a system's error becomes one of this package. */
interface Told {
  hint?: string;
  mayHaveRun?: boolean;
}

/** Errors that a callback of the caller's has thrown. */
const thrown = new WeakSet<object>();

/** A callback of the caller's whose errors {@link systemError} leaves as they are. */
export function keepsErrors<T extends unknown[]>(callback: (...args: T) => void) {
  return (...args: T): void => {
    try {
      callback(...args);
    } catch (error) {
      if (error instanceof Error) thrown.add(error);
      throw error;
    }
  };
}

/** The error of this package for one of the system, as Node.js throws it; anything else stays as it is. */
export function systemError(error: unknown, { hint, mayHaveRun }: Told = {}): unknown {
  const { code } = Object(error) as NodeJS.ErrnoException;
  const isOfSystem = error instanceof Error && /^E(?!RR_)[A-Z0-9_]+$/.test(String(code));
  if (!isOfSystem || thrown.has(error)) return error;
  const message = hint === undefined ? error.message : `${error.message}. ${hint}`;
  return new SystemError(message, { hint, cause: error, errno: String(code), mayHaveRun });
}
