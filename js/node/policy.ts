// What commands may touch, as TypeScript. The agent reads it, and says what is wrong with it; its JSON Schema is docs/policy.schema.json.
import { checkAwaited, checkText } from "../arguments.js";
import { InvalidArgumentError } from "../core/errors.js";
import { describe } from "../wrong-value.js";

/**
 * A policy that has a name. `open`: the agent's rights. `workspace`: the system read-only, the workspace, a private `/tmp` and the caches of
 * builds writable, secrets hidden. `offline`: the same without a network. `strict`: the workspace read-only too, and a small environment.
 */
export type PolicyName = "open" | "workspace" | "offline" | "strict";

/** The path of a file with a policy. It begins with `/`, `./` or `../`, or ends in `.json` or `.jsonc`. */
export type PolicyPath = `${"/" | "./" | "../"}${string}` | `${string}.${"json" | "jsonc"}`;

/** What a policy is made of: the presets, and the parts of `workspace`. */
export type PolicyPart =
  PolicyName | "system" | "secrets" | "git" | "commits" | "caches" | "tool-settings";

/**
 * What commands may touch. A path begins with `/`, with `~`, or in the workspace; `*` is any part of one name, `**` any number of
 * directories. The rule for the deepest place decides; at the same place `hide` before `read` before `write`.
 */
export interface Policy {
  /** What it adds to; with `!` what it leaves out of that. Default: `["workspace"]`. */
  extends?: readonly (PolicyPart | `!${PolicyPart}`)[];
  /** Which files they may read and write. */
  files?: {
    /** May be read and written, with all that is in them. */
    write?: readonly string[];
    /** May be read, with all that is in them. */
    read?: readonly string[];
    /** Are not there for commands. */
    hide?: readonly string[];
  };
  /**
   * What they reach: nothing, everything that this machine reaches, or by a proxy some hosts, such as `api.example.com:443` or
   * `*.example.org`. Default: that of what it extends.
   */
  network?: "none" | "host" | { allow: readonly string[] };
  /**
   * Whether they may make Unix sockets, as databases and terminal multiplexers do; connected pairs they may make in any case. Default:
   * true.
   */
  unixSockets?: boolean;
  /** What they have in their environment, besides what each is given when it is created. */
  env?: {
    /**
     * The variables that they get from the agent's environment; `*` is any part of a name. What looks like a secret, such as `GITHUB_TOKEN`,
     * they get only where its very name is here. Default: that of what it extends.
     */
    pass?: readonly string[];
    /** Variables and their values. */
    set?: Readonly<Record<string, string>>;
  };
  /** What they may use. A size is a number of bytes or such as `"512 MiB"`, a duration such as `"90 s"`. Default: no limits. */
  limits?: {
    /** How much memory all commands may have together. */
    memory?: number | string;
    /** How many processors all commands may keep busy together. */
    cpu?: number;
    /** How long each process may keep a processor busy. */
    cpuTime?: string;
    /** How many processes and threads there may be at once. */
    processes?: number;
    /** How many files each process may have open. */
    openFiles?: number;
    /** How large each file may be made. */
    fileSize?: number | string;
    /** How long each command may run. */
    wallTime?: string;
    /** How much each command may write to its stdout and stderr together. */
    output?: number | string;
  };
  /** Whether commands run although this machine can't hold all limits. Files and network are held in any case. Default: false. */
  bestEffort?: boolean;
}

/**
 * The flags with which an agent holds a policy.
 *
 * @throws {InvalidArgumentError} It is no policy.
 */
export function policyFlags(policy: unknown): string[] {
  if (policy === undefined) return [];
  if (typeof policy === "string") {
    checkText("options.policy", policy);
    return [`--policy=${policy}`];
  }
  checkAwaited("options.policy", policy);
  if (!isPlainObject(policy)) {
    const message = "`options.policy` must be a preset's name, the path of a file or an object";
    throw new InvalidArgumentError(`${message}, but is ${describe(policy)}`);
  }
  return [`--policy=${JSON.stringify(policy)}`];
}

/** Returns whether it is an object by itself: JSON has nothing of a `Map`, which would be the policy by default. */
function isPlainObject(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
