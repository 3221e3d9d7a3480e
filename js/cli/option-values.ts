import { checkVariable } from "./checked-arguments.js";
import { UsageError } from "./command.js";

// What the values of options mean.

/** The longest time that a timer can be set to, in seconds: 2^31 - 1 ms, near 25 days. */
const MAX_SECONDS = 2_147_483;

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Reads a time such as `90`, `90s` or `5m`, a bare number in seconds, as milliseconds. */
export function milliseconds(option: string, text: string): number {
  const [, number, unit = "s"] = /^(\d+\.?\d*|\.\d+)(ms|[smhd])?$/.exec(text) ?? [];
  const time = Number(number) * (UNITS_MS[unit] ?? NaN);
  if (time <= MAX_SECONDS * 1000) return Math.ceil(time);
  throw new UsageError(
    `${option} must be a time up to ${MAX_SECONDS} seconds, such as 90, 90s or 5m, but is "${text}"`,
  );
}

/** The same, of a time that has to be some. */
export function timeLimit(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = milliseconds(option, text);
  if (time === 0) throw new UsageError(`${option} must be more than 0 seconds`);
  return time;
}

/** A directory or another name, which is not empty. */
export function path(option: string, text: string | undefined): string | undefined {
  if (text !== "") return text;
  throw new UsageError(`${option} must not be empty`);
}

/** The name of a background namespace. */
export function backgroundNamespace(text: string | undefined): string | undefined {
  if (text === undefined || /^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/.test(text)) return text;
  throw new UsageError(
    `--namespace must be a name of letters, digits, ".", "_" and "-" that begins with a letter or digit, but is "${text}"`,
  );
}

/** A regular expression of JavaScript. */
export function regularExpression(option: string, text: string): string {
  try {
    new RegExp(text);
    return text;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(
      `${option} must be a regular expression of JavaScript, but is "${text}": ${reason}`,
      { cause },
    );
  }
}

/** Variables, each as `NAME=VALUE`, for a shell: it takes no other names (POSIX, 3.231 Name). */
export function shellVariables(settings: readonly string[]): Record<string, string> {
  const all = variables(settings);
  const odd = Object.keys(all).find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (odd === undefined) return all;
  throw new UsageError(
    `--env must have a name of letters, digits and _, which does not begin with a digit, but has "${odd}"`,
  );
}

/** Variables, each as `NAME=VALUE`, or as the `NAME` of one of this process. */
export function variables(settings: readonly string[]): Record<string, string> {
  const pairs = settings.map((setting): [string, string] => {
    const end = setting.indexOf("=");
    if (end > 0) return [setting.slice(0, end), setting.slice(end + 1)];
    const value = end === -1 ? process.env[setting] : undefined;
    if (value !== undefined) {
      checkVariable(setting, value);
      return [setting, value];
    }
    throw new UsageError(
      `--env must be like NAME=VALUE, or a NAME that is set here, but is "${setting}"`,
    );
  });
  return Object.fromEntries(pairs);
}

/** The numbers that are the same signals on all systems (POSIX, `kill`). */
const SIGNAL_NUMBERS: Readonly<Record<string, string>> = {
  1: "HUP",
  2: "INT",
  3: "QUIT",
  6: "ABRT",
  9: "KILL",
  14: "ALRM",
  15: "TERM",
};

/** A signal's whole name, of one that may be written short or as a number. Its target knows which there are. */
export function signalName(option: string, text: string): string {
  const name = SIGNAL_NUMBERS[text] ?? text.toUpperCase().replace(/^SIG/, "");
  if (/^[A-Z][A-Z0-9]*$/.test(name)) return `SIG${name}`;
  const numbers = Object.keys(SIGNAL_NUMBERS).join(", ");
  throw new UsageError(
    `${option} must be a signal's name like TERM, or a number that is the same signal on all systems (${numbers}), but is "${text}"`,
  );
}

/** A number from 1 on; `what` says what it counts. */
export function positiveNumber(option: string, text: string, what = "number"): number {
  const number = /^\d+$/.test(text) ? Number(text) : NaN;
  if (Number.isSafeInteger(number) && number >= 1) return number;
  throw new UsageError(`${option} must be a ${what} from 1 on, but is "${text}"`);
}

/** A TCP port. */
export function portNumber(what: string, text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  if (port >= 1 && port <= 65_535) return port;
  throw new UsageError(`${what} must be a port from 1 to 65535, but is "${text}"`);
}

/** A time as ages are shown, such as `90s`, `30m`, `2h` or `7d`, in milliseconds. */
export function ageMs(option: string, text: string): number {
  const [, number, unit = ""] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const time = Number(number) * (UNITS_MS[unit] ?? NaN);
  if (Number.isSafeInteger(time)) return time;
  throw new UsageError(`${option} must be a time like 90s, 30m, 2h or 7d, but is "${text}"`);
}
