import { resolve } from "node:path";

import type { StartAgentOptions } from "../node/start-agent.js";
import { withWayOn } from "../node/unenforced.js";
import { grouped, type Options, UsageError, type Values } from "./command.js";
import { containerNamed, IMAGE, imageArguments } from "./image.js";

/** The options that say what commands may touch. They are the agent's flags of the same names. */
export const POLICY = grouped("Isolation", {
  policy: {
    value: "NAME|FILE",
    help: "what commands may touch: open, workspace, offline, strict, or a file [default: workspace]",
    offers: ["open", "workspace", "offline", "strict"],
  },
  extend: {
    value: "NAME",
    multiple: true,
    offers: ["commits", "caches", "git", "secrets", "system", "tool-settings"],
    help: "add a policy part, such as commits for `git commit`; !NAME removes one; repeatable",
  },
  "allow-write": {
    value: "PATH",
    multiple: true,
    help: "what commands may also write; repeatable",
  },
  "allow-read": { value: "PATH", multiple: true, help: "what commands may also read; repeatable" },
  hide: { value: "PATH", multiple: true, help: "hide a path from commands; repeatable" },
  "allow-net": {
    value: "HOST[:PORT]",
    multiple: true,
    help: "a host that commands reach, and no other; repeatable",
  },
  "no-unix-sockets": {
    help: "keep commands from making Unix sockets but connected pairs; Postgres, MySQL, tmux, X11, D-Bus and Python's forkserver need some",
  },
  "pass-env": {
    value: "NAME",
    multiple: true,
    help: "a variable that commands get from the agent, and no other; * is any part; repeatable",
  },
});

/** The options that ask for an agent of its own with walls around what it runs: a policy, or a container. */
export const WALLS = { ...POLICY, ...IMAGE } as const satisfies Options;

/**
 * The agent of its own that the options ask for; undefined where they ask for none.
 *
 * @throws {UsageError} One is wrong, or they ask for walls of both kinds.
 */
export function agentWithWalls(values: Values<typeof WALLS>): StartAgentOptions | undefined {
  const container = containerNamed(values);
  const args = policyArguments(values);
  if (container === undefined) {
    const { workspace } = values;
    return args.length === 0 && workspace === undefined ? undefined : { args, workspace };
  }
  if (args.length > 0) {
    const [first = ""] = args[0]?.split("=") ?? [];
    throw new UsageError(`${first} is for commands on this machine, --image for others: give one`);
  }
  return container;
}

/** Returns whether the options of an agent have a policy or an image. */
function hasPolicy({ image, args = [] }: StartAgentOptions): boolean {
  return image !== undefined || args.some((arg) => POLICY_FLAG.test(arg));
}

const POLICY_FLAG = new RegExp(`^--(${Object.keys(POLICY).join("|")})(=|$)`);

/**
 * Starts an agent of its own. The policy `workspace` confines its commands, unless the options have another or an image.
 *
 * @throws {AgentError} It did not start; where this machine can't enforce that policy, the message names both ways on.
 */
export async function startConfined<T>(
  options: StartAgentOptions,
  start: (options: StartAgentOptions) => Promise<T>,
): Promise<T> {
  if (hasPolicy(options)) return await start(options);
  try {
    return await start({ ...options, policy: "workspace" });
  } catch (cause) {
    throw withWayOn(cause, UNCONFINED);
  }
}

const UNCONFINED =
  "Or run commands unconfined, with your permissions: give --policy open. --image runs them in a container.";

/** The options that were given, as another command line is to have them, from whatever directory. */
export function wallsArguments(values: Values<typeof WALLS>): string[] {
  return [...policyArguments(values), ...imageArguments(values)];
}

/** The options of a policy that were given, as flags of sandpipe-agent. */
export function policyArguments(values: Values<typeof POLICY>): string[] {
  return (Object.keys(POLICY) as (keyof typeof POLICY)[]).flatMap((name) =>
    [values[name] ?? []].flat().flatMap((value) => {
      if (typeof value === "boolean") return value ? [`--${name}`] : [];
      // The name of a preset has no slash.
      const isFile = name === "policy" && /[./]/.test(value) && !value.trimStart().startsWith("{");
      return [`--${name}=${isFile ? resolve(value) : value}`];
    }),
  );
}
