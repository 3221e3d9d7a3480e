// What the values of options mean.
import { UsageError } from "./usage-error.js";

/** The longest time that a timer can be set to, in seconds: 2^31 - 1 ms, near 25 days. */
const LONGEST_S = 2_147_483;

/** A time in seconds, as milliseconds. */
export function milliseconds(option: string, text: string): number {
  const seconds = /^(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : NaN;
  if (seconds <= LONGEST_S) return Math.ceil(seconds * 1000);
  throw new UsageError(
    `${option} must be a number of seconds up to ${LONGEST_S}, but is "${text}"`,
  );
}

/** The same, of a time that has to be some. */
export function timeLimit(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = milliseconds(option, text);
  if (time === 0) throw new UsageError(`${option} must be more than 0 seconds`);
  return time;
}

/** Variables, each as `NAME=VALUE`. */
export function variables(settings: readonly string[]): Record<string, string> {
  const pairs = settings.map((setting): [string, string] => {
    const end = setting.indexOf("=");
    if (end > 0) return [setting.slice(0, end), setting.slice(end + 1)];
    throw new UsageError(`--env must be like NAME=VALUE, but is "${setting}"`);
  });
  return Object.fromEntries(pairs);
}
