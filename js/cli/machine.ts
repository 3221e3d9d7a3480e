import { resolve } from "node:path";

import type { Background } from "../background.js";
import type { Files } from "../files.js";
import { background, connect } from "../node.js";
import { localRuntime } from "../node/local-runtime.js";
import { sshRuntime } from "../node/ssh-runtime.js";
import { startAgent, type StartAgentOptions } from "../node/start-agent.js";
import { POLICY_SUMMARY, policyOf, type UnderPolicy } from "../policy-summary.js";
import { RUN_AND_FORGET, type Runtime } from "../runtime.js";
import type { Sandbox } from "../sandbox.js";
import { connectIfNamed, CONNECTION, showOwnLog } from "./agent.js";
import { grouped, UsageError, type Values } from "./command.js";
import { interruptible, type StandardOutput } from "./exit-decision.js";
import { backgroundNamespace } from "./option-values.js";
import type { Outcome } from "./outcome.js";

/** The options that name the machine of background processes. */
export const RUNTIME = grouped("Connection", {
  local: { help: "on this machine [default, unless an agent is named]" },
  ssh: {
    value: "HOST",
    help: "on a machine over SSH: a host of the SSH configuration, or [USER@]HOST",
  },
  url: {
    value: "URL",
    help: "on the machine of the agent at this address [default: $SANDPIPE_URL]",
  },
  "token-file": CONNECTION["token-file"],
});

/** The options that name the machine of background processes, and the namespace there. */
export const PLACE = grouped("Connection", {
  ...RUNTIME,
  namespace: {
    value: "NAME",
    help: "the background namespace [default: the agent's own; without an agent: default]",
  },
});

/** A runtime that has been reached. */
export interface ReachedRuntime extends Runtime, UnderPolicy {
  /** Its files, if it is an agent's. */
  readonly files?: Files;
  /** Ends the connection, and what is under way. */
  close(): void | Promise<void>;
}

/**
 * The runtime that the options name, else the agent that the environment names, else this machine:
 * an agent of its own would take the processes with it.
 *
 * @throws {UsageError} They name several.
 */
export async function reachRuntime(values: Values<typeof RUNTIME>): Promise<ReachedRuntime> {
  requireOneMachine(values);
  const { local, ssh } = values;
  if (ssh !== undefined) return sshRuntime({ host: ssh });
  const sandbox = local ? undefined : await connectIfNamed(values);
  if (sandbox === undefined) return closable(localRuntime());
  return closable(ofSandbox(sandbox), () => {
    sandbox.close();
  });
}

/** An agent of its own as a runtime. It ends when it is closed, with all that it runs. */
export async function reachOwnAgent(options: StartAgentOptions): Promise<ReachedRuntime> {
  const agent = await startAgent({ ...options, onLog: showOwnLog });
  const sandbox = await connect(agent);
  return closable(ofSandbox(sandbox), async () => {
    sandbox.close();
    await agent.stop();
  });
}

/**
 * The options that were given, as another command line is to have them, from whatever directory.
 *
 * @throws {UsageError} They name several machines.
 */
export function runtimeArguments(values: Values<typeof RUNTIME>): string[] {
  requireOneMachine(values);
  const { local, ssh, url, "token-file": tokenFile } = values;
  return [
    ...(local ? ["--local"] : []),
    ...(ssh === undefined ? [] : ["--ssh", ssh]),
    ...(url === undefined ? [] : ["--url", url]),
    ...(tokenFile === undefined ? [] : ["--token-file", resolve(tokenFile)]),
  ];
}

/** The background processes of a runtime in the namespace that the options name. */
export function processesAt(
  runtime: Runtime,
  { namespace }: { namespace?: string | undefined },
): Background {
  const name = backgroundNamespace(namespace);
  return background(runtime, name === undefined ? {} : { namespace: name });
}

function requireOneMachine(values: Values<typeof RUNTIME>): void {
  const { local, ssh, url, "token-file": tokenFile } = values;
  const named = [local && "--local", ssh !== undefined && "--ssh", url !== undefined && "--url"];
  const [first, second] = named.filter((option) => option !== false);
  if (first !== undefined && second !== undefined) {
    throw new UsageError(`${first} and ${second} name different machines: give one of them`);
  }
  if (tokenFile !== undefined && (local || ssh !== undefined)) {
    throw new UsageError("--token-file is an agent's: give it with --url");
  }
}

/** A sandbox as a runtime whose scripts leave nothing behind. */
function ofSandbox(sandbox: Sandbox): Runtime & UnderPolicy & { files: Files } {
  const run = sandbox[RUN_AND_FORGET].bind(sandbox);
  return { run, files: sandbox.files, [POLICY_SUMMARY]: sandbox[POLICY_SUMMARY] };
}

/** A runtime whose scripts that are under way are stopped when it is closed. */
function closable(
  runtime: Runtime & UnderPolicy & { files?: Files },
  close: () => void | Promise<void> = () => undefined,
): ReachedRuntime {
  const closing = new AbortController();
  const underWay = new Set<Promise<unknown>>();
  return {
    ...(runtime.files === undefined ? {} : { files: runtime.files }),
    [POLICY_SUMMARY]: runtime[POLICY_SUMMARY],
    run(script, options) {
      const signals = [closing.signal, ...(options?.signal === undefined ? [] : [options.signal])];
      const running = runtime.run(script, { signal: AbortSignal.any(signals) });
      underWay.add(running);
      return running.finally(() => underWay.delete(running));
    },
    async close() {
      closing.abort();
      await Promise.allSettled(underWay);
      await close();
    },
  };
}

/**
 * Does something with the background processes of the machine and the namespace that the options name.
 *
 * @param work Called with the processes, the name of the policy of their machine where that is known, and the machine.
 */
export async function onTarget(
  values: Values<typeof PLACE>,
  work: (
    processes: Background,
    output: StandardOutput,
    stopping: AbortSignal,
    policy: string | undefined,
    runtime: Runtime,
  ) => Promise<Outcome | undefined>,
): Promise<Outcome> {
  const runtime = await reachRuntime(values);
  return await interruptible(
    (output, stopping) =>
      work(processesAt(runtime, values), output, stopping, policyOf(runtime)?.name, runtime),
    () => runtime.close(),
  );
}
