import { execFile, spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { randomBytes } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { parse, resolve } from "node:path";

import { AgentError } from "../../core/errors.js";
import {
  type AgentAddress,
  agentError,
  type StartExplanations,
  waitForAddress,
} from "../agent-address.js";
import type { OnLog } from "../agent-log.js";
import { type AgentProcess, type StopSignal, waitForEnd } from "../agent-process.js";
import { AGENT_PLATFORMS, chooseAgent, explainStartFailure } from "../agent-program.js";
import { findAgents } from "../find-agent.js";
import { environmentOfPrograms, programFile } from "../find-program.js";
import { isReplaced } from "../opened-program.js";
import { removeArguments, runArguments, signalArguments } from "./command-line.js";
import { type Connection, prepareConnection } from "./connection.js";
import {
  explainContainerEnd,
  explainDroppedLimit,
  explainOtherPlatform,
  explainSilentContainer,
  explainStranger,
  type ImagePlatform,
  nodePlatform,
} from "./explain.js";
import { findEngine, type FoundEngine } from "./find-engine.js";
import { inspectImage } from "./inspect-image.js";
import type { ContainerOptions } from "./options.js";
import type { Relay } from "./relay.js";

/**
 * Where the engine runs on Linux: podman's monitor leaves a file `oom` in its working directory where a command meets the limit of
 * memory, and nothing can be made here.
 */
const WORKING_DIRECTORY = "/proc";
/** How long an engine may take to remove or signal a container, in milliseconds. */
const ENGINE_TIMEOUT = 30_000;

/**
 * Starts an agent in a container, as a child of this process: the engine's client, which hands on signals and ends with
 * the agent's exit code. The container ends with this process, however that ends: the agent's stdin ends then.
 *
 * @param token The agent's.
 * @param agentArguments More flags for the agent.
 * @param onLog Gets the agent's log, from when it listens on.
 * @throws {AgentError} There is no engine, image, agent or workspace as it is asked for.
 */
export async function startContainer(
  options: ContainerOptions,
  token: string,
  agentArguments: readonly string[],
  onLog: OnLog,
): Promise<AgentProcess> {
  const own = `${process.platform}-${process.arch}`;
  const isLinux = process.platform === "linux";
  const found = findEngine(options.engine);
  const workspace = await findWorkspace(options.workspace);
  const platform = await inspectImage(found, options.image);
  const program = await agentFor(found, options.image, platform, own);
  const name = `sandpipe-${randomBytes(8).toString("hex")}`;
  // A socket of this machine is none in a virtual machine's containers.
  const connection = await prepareConnection(options.connection ?? (isLinux ? "socket" : "stdio"));
  const { socketFolder } = connection;
  const parts = { name, program, socketFolder, workspace, agentArguments };
  const child = spawn(found.program, runArguments(options, parts), {
    // A group of its own: Ctrl+C in a terminal is for this process to act upon, not for both.
    detached: true,
    env: environmentOfPrograms(),
    cwd: isLinux ? WORKING_DIRECTORY : parse(found.program).root,
    stdio: ["pipe", "pipe", "pipe"],
    windowsHide: true,
  });
  return supervise(child, { options, found, program, name, token, connection, onLog });
}

/** A container whose engine's client has been started. */
interface Container {
  options: ContainerOptions;
  found: FoundEngine;
  program: string;
  name: string;
  token: string;
  connection: Connection;
  onLog: OnLog;
}

function supervise(child: ChildProcessWithoutNullStreams, container: Container): AgentProcess {
  const { program, token, connection, onLog } = container;
  const { image, memory, cpus, pids } = container.options;
  const { engine } = container.found;
  let relay: Relay | undefined;
  const exited = waitForEnd(child);
  const ended = exited.then(async () => {
    relay?.close();
    await connection.close();
    // The engine removes one that ended by itself. Its client may have ended before that.
    if (child.exitCode !== 0 || relay === undefined) {
      await runEngine(container, removeArguments(engine, container.name));
    }
  });
  // It may be gone before it has read it.
  child.stdin.on("error", () => undefined).write(`${token}\n`);
  const explain: StartExplanations = {
    failed: (cause) => notStarted(container.found, cause),
    earlyEnd: (end) => explainContainerEnd(engine, image, program, end),
    wrongLine: (line) => explainStranger(image, program, line),
    silence: (waited, said) => explainSilentContainer(image, waited, said),
  };
  const listen = async (): Promise<AgentAddress> => {
    const { stderr } = await waitForAddress(child, exited, explain, onLog);
    const isLimited = [memory, cpus, pids].some((limit) => limit !== undefined);
    const dropped = isLimited ? explainDroppedLimit(engine, stderr) : undefined;
    if (dropped !== undefined) throw agentError(dropped);
    relay = await connection.open(child);
    return { url: relay.url };
  };
  const signal = (signal: StopSignal): void => {
    // There the engine's client can't hand a signal on: it would be ended by it.
    if (process.platform !== "win32") child.kill(signal);
    else void runEngine(container, signalArguments(container.name, signal));
  };
  return { child, signal, listening: listen(), ended };
}

/** @throws {AgentError} It is no directory. */
async function findWorkspace(workspace: string | undefined): Promise<string | undefined> {
  if (workspace === undefined) return undefined;
  const path = resolve(workspace);
  const isDirectory = await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  if (isDirectory) return path;
  throw new AgentError(`the workspace ${path} is not a directory that exists`, {});
}

/**
 * The program to run as the agent in an image: what would be run outside, where that is for the image's platform.
 *
 * @throws {AgentError} There is none.
 */
async function agentFor(
  { engine }: FoundEngine,
  image: string,
  platform: ImagePlatform,
  own: string,
): Promise<string> {
  const wanted = nodePlatform(platform);
  const candidates = { ...findAgents(), platform: wanted };
  const chosen = chooseAgent(candidates);
  const { file, origin } = chosen;
  // What is in PATH is for this machine.
  if (origin === "PATH" && wanted !== own) {
    throw agentError(explainOtherPlatform(engine, image, platform, own, AGENT_PLATFORMS));
  }
  let program;
  try {
    program = programFile(file);
  } catch (cause) {
    throw agentError(explainStartFailure(chosen, candidates, cause as Error), { cause });
  }
  // The engine takes a path. That of the first container's program may have been given to another since.
  if (isReplaced(program)) {
    const reason = `${program} was replaced after this process started it`;
    throw agentError({ reason, hint: "Start this process again." });
  }
  try {
    return await realpath(program);
  } catch (cause) {
    const reason = `${program} can't be run as the agent: ${String(cause)}`;
    throw agentError(
      { reason, hint: "Name a static agent in SANDPIPE_AGENT, or unset it." },
      { cause },
    );
  }
}

function notStarted({ program }: FoundEngine, cause: unknown): AgentError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return agentError({ reason: `${program} could not be run: ${reason}` }, { cause });
}

/** Has the engine do something to the container, which may be gone. */
function runEngine({ found }: Container, args: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    const options = { env: environmentOfPrograms(), timeout: ENGINE_TIMEOUT };
    execFile(found.program, args, options, () => {
      resolve();
    });
  });
}
