import * as classes from "./core/errors.js";

type ErrorClass = new (message: string, details: object) => Error;

/** Errors of the core's that no call has rejected with yet. */
const unseen = new WeakSet();

/** Makes an error of the core's (`Shim` there says what it is called with). */
export function makeError(
  className: keyof typeof classes,
  message: string,
  details: object,
): Error {
  const error = new (classes[className] as unknown as ErrorClass)(message, details);
  unseen.add(error);
  return error;
}

/**
 * Awaits what the core promised. An error was made in the core, where the stack does not know who called: it is given
 * the caller's, where the engine can do that.
 */
export async function settle<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    const { captureStackTrace } = Error as Partial<Pick<ErrorConstructor, "captureStackTrace">>;
    if (unseen.delete(error as object)) captureStackTrace?.(error as object, settle);
    throw error;
  }
}
