// So that the types compile for users whose `lib` is older.
/// <reference lib="esnext.disposable" preserve="true" />

import { load } from "../load.js";
import { loader, ownFetch, withoutProxy } from "../node-core.js";
import { POLICY_SUMMARY } from "../policy-summary.js";
import { Sandbox } from "../sandbox.js";
import {
  type EmbeddedAgent,
  startAgent,
  type StartAgentOptions,
  type StopAgentOptions,
} from "./start-agent.js";
import { withWayOn } from "./unenforced.js";

/** How to start a sandbox: on this machine under a policy, or with `image` in a container. */
export interface CreateSandboxOptions extends StartAgentOptions {
  /**
   * What commands may touch: a preset's name, the path of a file, or a policy. bubblewrap enforces it, on Linux; a container is
   * isolated without it. `open`: commands run unconfined, with your permissions. Default: `workspace`; none with `image`.
   */
  policy?: StartAgentOptions["policy"];
}

/** A sandbox with an agent of its own. {@link createSandbox} makes one. */
export class EmbeddedSandbox extends Sandbox implements AsyncDisposable {
  readonly #agent: EmbeddedAgent;

  /** @internal */
  constructor(agent: EmbeddedAgent) {
    const { url, token } = agent;
    super(withoutProxy({ url, token }), ownFetch, agent[POLICY_SUMMARY]);
    this.#agent = agent;
  }

  /**
   * Closes the sandbox, stops its commands (SIGTERM, 10 s, SIGKILL) and then its agent. Resolves when the agent has ended, also
   * when it is called again.
   */
  async stop(options: StopAgentOptions = {}): Promise<void> {
    const stopping = this.#agent.stop(options);
    this.close();
    await stopping;
  }

  /** The same as {@link EmbeddedSandbox.stop}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/**
 * Starts a sandbox: an agent as {@link startAgent} runs it, connected. Its commands are confined by the policy `workspace`, unless
 * `policy` or `image` says otherwise. It ends with this process, and does not keep it alive.
 *
 * @example
 * const sandbox = await createSandbox({ workspace: "app" });
 * console.log((await sandbox.run("npm test")).exitCode);
 * await sandbox.stop();
 *
 * @throws {InvalidArgumentError} An option is wrong.
 * @throws {AgentError} The agent did not start: this machine can't enforce the policy, say. The message says why, and what to do.
 * @throws {LoadError} The WebAssembly module could not be loaded.
 */
export async function createSandbox(options: CreateSandboxOptions = {}): Promise<EmbeddedSandbox> {
  await load(loader, undefined);
  try {
    return new EmbeddedSandbox(await startAgent(confinedByDefault(options)));
  } catch (error) {
    // With an image the policy is the container's: without it the sandbox would not be the one that was asked for.
    throw (Object(options) as CreateSandboxOptions).image === undefined
      ? withWayOn(error, WAYS_ON)
      : error;
  }
}

const WAYS_ON =
  'In a program these are the options `workspace` and `policy`. Or run commands unconfined, with your permissions: give `policy: "open"`. ' +
  "`image` runs them in a container.";

/** Adds the default policy. {@link startAgent} refuses options that are no object. */
function confinedByDefault(options: CreateSandboxOptions): StartAgentOptions {
  const given = Object(options) as CreateSandboxOptions;
  if (given !== options || given.policy !== undefined || given.image !== undefined) return options;
  return { ...options, policy: "workspace" };
}
