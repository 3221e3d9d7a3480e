// So that the types compile for users whose `lib` is older.
/// <reference lib="esnext.disposable" preserve="true" />

import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { onAbort } from "../abort.js";
import { checkFields, checkText } from "../arguments.js";
import { AgentError, InvalidArgumentError } from "../core/errors.js";
import { INSPECT, inspected } from "../inspect.js";
import type { AbortSignal } from "../platform.js";
import { POLICY_SUMMARY, type PolicySummary } from "../policy-summary.js";
import { type OnLog, warnOf } from "./agent-log.js";
import { type AgentProcess, endUnready, spawnAgent } from "./agent-process.js";
import { CONTAINER_FIELDS, type ContainerOptions, containerOptions } from "./container/options.js";
import { startContainer } from "./container/start.js";
import { leaveOutWorkspace } from "./find-program.js";
import { type Policy, policyFlags, type PolicyName, type PolicyPath } from "./policy.js";
import { environmentOfCommands } from "./process.js";

/** How to run the embedded agent: on this machine, or with `image` in a container. */
export interface StartAgentOptions extends Partial<ContainerOptions> {
  /**
   * The directory that commands run in by default. Default: the current one; in a container, where it is mounted for reading and
   * writing, none: commands run in the directory that the image has for them.
   */
  workspace?: string | undefined;
  /**
   * What commands may touch: a preset's name, the path of a file, or a policy. bubblewrap enforces it, on Linux; a container is
   * isolated without it. Default: `open`, commands run unconfined, with this process's permissions; the agent's `policy` says so.
   */
  policy?: PolicyName | PolicyPath | Policy | undefined;
  /** More flags for `sandpipe-agent`, such as `["--allow-origin", "http://localhost:5173"]`. */
  args?: readonly string[];
  /**
   * Receives each line of the agent's log, without its end: warnings and errors, unless `args` has `--log`.
   * Default: each is a warning of this process (`process.emitWarning`, with the name `SandpipeWarning`).
   */
  onLog?: ((line: string) => void) | undefined;
}

const FIELDS = [...CONTAINER_FIELDS, "policy", "args", "onLog"];

/** How to stop the embedded agent. */
export interface StopAgentOptions {
  /** Aborted: its commands are killed at once. */
  forceSignal?: AbortSignal;
}

/** An agent that belongs to this process. It can be handed to `connect` as it is. */
export class EmbeddedAgent implements AsyncDisposable {
  readonly #agent: AgentProcess;
  #isStopping = false;
  readonly #policy: PolicySummary | undefined;

  /** @internal */
  constructor(
    /** Its address, on a free loopback port. */
    readonly url: string,
    /** Its token, made for this run. */
    readonly token: string,
    agent: AgentProcess,
    policy: PolicySummary | undefined,
  ) {
    this.#agent = agent;
    this.#policy = policy;
  }

  /**
   * What its commands may touch: the name of a preset, or `custom`. `open`: they run unconfined, with this process's permissions.
   * Undefined in a container, which isolates them.
   */
  get policy(): string | undefined {
    return this.#policy?.name;
  }

  /** What is printed of it: all but its token. @internal */
  [INSPECT](_depth: unknown, options: unknown, inspect?: (value: unknown) => string): string {
    return inspected("EmbeddedAgent", { url: this.url, policy: this.policy }, options, inspect);
  }

  /** @internal */
  get [POLICY_SUMMARY](): PolicySummary | undefined {
    return this.#policy;
  }

  /**
   * Stops its commands (SIGTERM, 10 s, SIGKILL) and then the agent itself. Resolves when it has
   * ended, also when it is called again.
   */
  async stop(options: StopAgentOptions = {}): Promise<void> {
    checkFields(options, ["forceSignal"]);
    const { forceSignal } = options;
    hold(this.#agent.child);
    // Once: the agent takes a second signal for "now", and would kill its commands.
    if (!this.#isStopping) this.#agent.signal("SIGTERM");
    this.#isStopping = true;
    // Another signal: of two that are the same one may be lost in the other.
    const force = (): void => {
      this.#agent.signal("SIGINT");
    };
    if (forceSignal?.aborted === true) force();
    const endListening = onAbort(forceSignal, force);
    try {
      await this.#agent.ended;
    } finally {
      endListening();
    }
  }

  /** The same as {@link EmbeddedAgent.stop}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/**
 * Runs `sandpipe-agent` as a child of this process: the program that `SANDPIPE_AGENT` names, else the one that is
 * installed with this package (on Linux, x64 and arm64), else the one in `PATH`.
 *
 * Commands run unconfined, with this process's permissions, unless `policy` or `image` is given; {@link createSandbox} confines them by
 * default.
 *
 * The agent ends with this process, however that ends, and does not keep it alive.
 *
 * With `image` it runs in a container of that image, by podman or docker (the image has to be there). The container ends with
 * the agent, and is removed.
 *
 * @example
 * const agent = await startAgent({ policy: "workspace" });
 * const sandbox = await connect(agent);
 *
 * @throws {InvalidArgumentError} An option is wrong.
 * @throws {AgentError} There is no such program, engine or image, or it did not start; the message says why, and what to do.
 */
export async function startAgent(options: StartAgentOptions = {}): Promise<EmbeddedAgent> {
  checkFields(options, FIELDS);
  checkText("options.workspace", options.workspace ?? "");
  checkArguments(options.args ?? []);
  const container = containerOptions(options);
  const policy = policyFlags(options.policy);
  if (container !== undefined && policy.length > 0) {
    throw new InvalidArgumentError(
      "`options.policy` is for commands on this machine: leave it out where `options.image` is given",
    );
  }
  // That of commands without one is the current directory, also when this process is in another later.
  const workspace = options.workspace ?? (policy.length > 0 ? process.cwd() : undefined);
  if (workspace !== undefined && options.policy !== "open") leaveOutWorkspace(workspace);
  const token = newToken();
  const { onLog = warnOf } = options;
  if (typeof onLog !== "function") {
    throw new InvalidArgumentError(`\`options.onLog\` must be a function, but is ${typeof onLog}`);
  }
  const agent =
    container === undefined
      ? spawnOnThisMachine(options, policy, token, onLog)
      : await startContainer(container, token, options.args ?? [], onLog);
  try {
    const { url, policy: summary } = await agent.listening;
    release(agent.child);
    return new EmbeddedAgent(url, token, agent, summary);
  } catch (error) {
    await endUnready(agent);
    throw error;
  }
}

/** A token that nobody can guess. */
export function newToken(): string {
  return randomBytes(32).toString("base64url");
}

function spawnOnThisMachine(
  options: StartAgentOptions,
  policy: readonly string[],
  token: string,
  onLog: OnLog,
): AgentProcess {
  // Of a name that nobody can guess. The agent makes it for itself alone, and removes it at its end.
  const stateDir = join(tmpdir(), `sandpipe-agent-${randomBytes(16).toString("hex")}`);
  return spawnAgent(
    [
      ...["--listen", "127.0.0.1:0"],
      ...["--state-dir", stateDir],
      ...["--workspace", options.workspace ?? currentDirectory()],
      "--ephemeral",
      ...policy,
      ...(options.args ?? []),
    ],
    onLog,
    { ...environmentOfCommands(), SANDPIPE_ADMIN_TOKEN: token },
  );
}

/** @throws {AgentError} There is none any more. */
function currentDirectory(): string {
  try {
    return process.cwd();
  } catch (cause) {
    const hint = "Change to a directory that is there, or name one in `options.workspace`.";
    throw new AgentError(`the current directory has been removed. ${hint}`, { hint, cause });
  }
}

/** @throws {InvalidArgumentError} They are no arguments that a program can be given. */
function checkArguments(args: unknown): void {
  if (!Array.isArray(args)) {
    const shown = typeof args === "string" ? JSON.stringify(args) : typeof args;
    throw new InvalidArgumentError(`\`options.args\` must be an array of strings, but is ${shown}`);
  }
  args.forEach((arg: unknown, index) => {
    checkText(`options.args[${index}]`, arg);
  });
}

/** Lets this process end while the agent runs. */
function release(child: ChildProcess): void {
  child.unref();
  for (const stream of pipes(child)) stream.unref?.();
}

/** Keeps this process from ending before the agent. */
function hold(child: ChildProcess): void {
  child.ref();
  for (const stream of pipes(child)) stream.ref?.();
}

/** The streams to a process: sockets, which the types do not tell. */
function pipes(child: ChildProcess): { ref?(): void; unref?(): void }[] {
  return child.stdio.filter((stream) => stream !== null) as { ref?(): void; unref?(): void }[];
}
