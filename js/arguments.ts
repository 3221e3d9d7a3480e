// Checks of arguments that do not come to the core, which checks its own.
import { InvalidArgumentError } from "./core/errors.js";
import type { StreamOptions } from "./stream.js";
import { describe, isPromise, suggest } from "./wrong-value.js";

/** The signal of a stream's options. */
export function checkSignal(options: StreamOptions | undefined): AbortSignal | undefined {
  const signal: unknown = options?.signal;
  if (signal === undefined || isSignal(signal)) return signal;
  throw new InvalidArgumentError(
    `\`options.signal\` must be an AbortSignal, but is ${describe(signal)}`,
  );
}

/** By its shape: another realm's is none of this one's class. */
function isSignal(value: unknown): value is AbortSignal {
  if (typeof value !== "object" || value === null) return false;
  const { aborted, addEventListener } = value as Partial<AbortSignal>;
  return typeof aborted === "boolean" && typeof addEventListener === "function";
}

/**
 * Checks that options are an object with no fields but these: a misspelt one would have no effect.
 *
 * @throws {InvalidArgumentError} They are something else, or have another field.
 */
export function checkFields(options: unknown, names: readonly string[]): void {
  const problem = fieldsProblem(options, names);
  if (problem === undefined) return;
  throw new InvalidArgumentError(
    `\`options\` must be an object with no other fields than ${names.join(", ")}, but is ${problem}`,
  );
}

function fieldsProblem(options: unknown, names: readonly string[]): string | undefined {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    return describe(options);
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  return unknown === undefined ? undefined : `one with "${unknown}"${suggest(unknown, names)}`;
}

/**
 * Checks that a sandbox, or what it is made of, has been awaited.
 *
 * @throws {InvalidArgumentError} It is a promise.
 */
export function checkAwaited(name: string, value: unknown): void {
  if (!isPromise(value)) return;
  throw new InvalidArgumentError(`\`${name}\` must be awaited, but is ${describe(value)}`);
}

/**
 * Checks a text for a program: no argument, script or path can have a NUL in it.
 *
 * @throws {InvalidArgumentError} It is none.
 */
export function checkText(name: string, value: unknown): void {
  const problem = typeof value === "string" ? textProblem(value) : `is ${describe(value)}`;
  if (problem === undefined) return;
  throw new InvalidArgumentError(`\`${name}\` must be text without NUL, but ${problem}`);
}

/**
 * Where a text has what a program can't be given; undefined where it has nothing of that.
 *
 * @param forbidden What that is. Default: NUL.
 */
export function textProblem(text: string, forbidden = /\0/): string | undefined {
  const index = text.search(forbidden);
  if (index < 0) return undefined;
  // As people count them.
  const lines = text.slice(0, index).split("\n");
  return `has one in line ${lines.length}, character ${Array.from(lines.at(-1) ?? "").length + 1}`;
}
