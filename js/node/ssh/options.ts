import { checkFields } from "../../arguments.js";
import { InvalidArgumentError } from "../../core/errors.js";
import { fixedSettings, setting } from "./settings.js";

/** Where a machine is, and how to get in. What is left out is as in the user's SSH configuration. */
export interface SshRuntimeOptions {
  /** The machine: a name, an address, or a `Host` of the SSH configuration. */
  host: string;
  /** The port of its SSH server. */
  port?: number;
  /** The user to log in as. */
  user?: string;
  /** The file with the private key to log in with. No other key is tried then. */
  identityFile?: string;
  /** The file with the keys of known hosts. A host whose key is not known is refused. */
  knownHostsFile?: string;
  /** The SSH configuration, in place of the user's and the system's. */
  configFile?: string;
}

const NAMES = ["host", "port", "user", "identityFile", "knownHostsFile", "configFile"];

/** The arguments of an `ssh` of some version, with the host at their end. */
export type SshArguments = (version: number) => string[];

/**
 * The arguments of `ssh` that the options stand for.
 *
 * @throws {InvalidArgumentError} An option is wrong.
 */
export function sshArguments(options: SshRuntimeOptions): SshArguments {
  checkFields(options, NAMES);
  const { port } = options;
  if (port !== undefined && !(Number.isInteger(port) && port >= 1 && port <= 65_535)) {
    throw wrong("options.port", "a port between 1 and 65535", port);
  }
  const host = checkName(options.host, "host");
  const user = optional(options.user, (user) => checkName(user, "user"));
  const identityFile = optional(options.identityFile, (file) => checkPath(file, "identityFile"));
  const knownHosts = optional(options.knownHostsFile, (file) => checkPath(file, "knownHostsFile"));
  const configFile = optional(options.configFile, (file) => checkPath(file, "configFile"));
  return (version) => [
    ...(configFile === undefined ? [] : ["-F", configFile]),
    ...fixedSettings(version, knownHosts !== undefined),
    ...(port === undefined ? [] : ["-p", String(port)]),
    ...(user === undefined ? [] : ["-l", user]),
    ...(identityFile === undefined
      ? []
      : ["-i", identityFile, ...setting("IdentitiesOnly", "yes")]),
    ...(knownHosts === undefined ? [] : setting("UserKnownHostsFile", quotePath(knownHosts))),
    "--",
    host,
  ];
}

/** A path in a setting: spaces separate there, and `%` begins a token. */
export function quotePath(path: string): string {
  return `"${path.replaceAll("%", "%%")}"`;
}

function optional<T>(value: unknown, check: (value: unknown) => T): T | undefined {
  return value === undefined ? undefined : check(value);
}

/** A host or user. One that begins with a dash would be an option to programs on the way. */
function checkName(value: unknown, name: string): string {
  if (typeof value === "string" && /^[^-\s\u0000-\u001f][^\s\u0000-\u001f]*$/.test(value)) {
    return value;
  }
  throw wrong(`options.${name}`, "a name that does not begin with a dash, without spaces", value);
}

function checkPath(value: unknown, name: string): string {
  if (typeof value === "string" && value !== "" && !/[\u0000-\u001f"]/.test(value)) return value;
  throw wrong(`options.${name}`, "the path of a file", value);
}

function wrong(name: string, expected: string, actual: unknown): InvalidArgumentError {
  const shown = typeof actual === "string" ? JSON.stringify(actual) : String(actual);
  return new InvalidArgumentError(`\`${name}\` must be ${expected}, but is ${shown}`);
}
