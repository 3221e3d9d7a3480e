import { execFile, spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { randomBytes } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { resolve } from "node:path";

import { AgentError } from "../../core/errors.js";
import {
  type AgentAddress,
  agentError,
  type StartExplanations,
  waitForAddress,
} from "../agent-address.js";
import type { OnLog } from "../agent-log.js";
import { type AgentProcess, waitForEnd } from "../agent-process.js";
import { AGENT_PLATFORMS, chooseAgent, explainStartFailure } from "../agent-program.js";
import { findAgents } from "../find-agent.js";
import { environmentOfPrograms, findProgram } from "../find-program.js";
import { isReplaced } from "../opened-program.js";
import { removeArguments, runArguments } from "./command-line.js";
import {
  explainContainerEnd,
  explainDroppedLimit,
  explainNoSockets,
  explainOtherPlatform,
  explainSilentContainer,
  explainStranger,
  type ImagePlatform,
  nodePlatform,
} from "./explain.js";
import { findEngine, type FoundEngine } from "./find-engine.js";
import { inspectImage } from "./inspect-image.js";
import type { ContainerOptions } from "./options.js";
import { type Relay, relayTo } from "./relay.js";
import { makeSocketFolder, type SocketFolder, type TakenSocket } from "./socket-folder.js";

/**
 * Where the engine runs: podman's monitor leaves a file `oom` in its working directory where a command meets the limit of
 * memory, and nothing can be made here.
 */
const WORKING_DIRECTORY = "/proc";
/** How long an engine may take to remove a container, in milliseconds. */
const REMOVE_TIMEOUT = 30_000;

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
  if (process.platform !== "linux") throw agentError(explainNoSockets(own));
  const found = findEngine(options.engine);
  const workspace = await findWorkspace(options.workspace);
  const platform = await inspectImage(found, options.image);
  const program = await agentFor(found, options.image, platform, own);
  const name = `sandpipe-${randomBytes(8).toString("hex")}`;
  const folder = await makeSocketFolder();
  const parts = { name, program, socketFolder: folder.path, workspace, agentArguments };
  const child = spawn(found.program, runArguments(options, parts), {
    // A group of its own: Ctrl+C in a terminal is for this process to act upon, not for both.
    detached: true,
    env: environmentOfPrograms(),
    cwd: WORKING_DIRECTORY,
    stdio: ["pipe", "pipe", "pipe"],
  });
  return supervise(child, { ...options, found, program, name, token, folder, onLog });
}

/** A container whose engine's client has been started. */
interface Container extends ContainerOptions {
  found: FoundEngine;
  program: string;
  name: string;
  token: string;
  folder: SocketFolder;
  onLog: OnLog;
}

function supervise(child: ChildProcessWithoutNullStreams, container: Container): AgentProcess {
  const { image, program, token, folder, onLog } = container;
  const { engine } = container.found;
  let relay: Relay | undefined;
  let socket: TakenSocket | undefined;
  const exited = waitForEnd(child);
  const ended = exited.then(async () => {
    relay?.close();
    await Promise.all([socket?.close(), folder.remove()]);
    // The engine removes one that ended by itself. Its client may have ended before that.
    if (child.exitCode !== 0 || relay === undefined) await remove(container);
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
    const { memory, cpus, pids } = container;
    const isLimited = [memory, cpus, pids].some((limit) => limit !== undefined);
    const dropped = isLimited ? explainDroppedLimit(engine, stderr) : undefined;
    if (dropped !== undefined) throw agentError(dropped);
    socket = await folder.take();
    relay = await relayTo(socket.path);
    return { url: relay.url };
  };
  return { child, listening: listen(), ended };
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
  let program = file;
  try {
    if (!file.includes("/")) program = findProgram(file);
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

/** Ends the container where it still is, and removes it. There may be none. */
function remove({ found, name }: Container): Promise<void> {
  return new Promise((resolve) => {
    const options = { env: environmentOfPrograms(), timeout: REMOVE_TIMEOUT };
    execFile(found.program, removeArguments(found.engine, name), options, () => {
      resolve();
    });
  });
}
