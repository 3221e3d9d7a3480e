// The engine's command lines. podman and docker read them alike.
import type { StopSignal } from "../agent-process.js";
import type { ContainerOptions, Engine } from "./options.js";

/** Where the agent's program is in the container. */
const PROGRAM = "/run/sandpipe-agent";
/** The folder in the container with the socket that the agent listens on. */
const SOCKET_FOLDER = "/run/sandpipe";
/** The name of the socket in its folder. */
export const SOCKET = "agent.sock";
/** Where the output of commands is kept in the container. It goes with it. */
const STATE_DIR = "/tmp/sandpipe-agent";
/** Where the workspace is, unless another place is named. */
const WORKSPACE = "/workspace";

/**
 * What the agent and a package manager need: to become other users, to end what is theirs, and to give them files. The engine's own list
 * has others besides, such as raw packets and devices.
 */
const CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"];

/** How many processes and threads there may be at once, as with podman. Docker has no limit. */
const PIDS = 2048;

/** What a container is made of, besides what its user asks for. */
export interface ContainerParts {
  /** Its name, by which it can be removed. */
  name: string;
  /** The agent's program on this machine: an absolute path. */
  program: string;
  /** The folder of this machine for the socket; undefined where the agent listens on its stdio. */
  socketFolder: string | undefined;
  /** The directory of this machine that is mounted as the workspace: an absolute path. */
  workspace: string | undefined;
  /** More flags for the agent. */
  agentArguments: readonly string[];
}

/** The arguments with which the engine runs an agent in a container, whose stdin, stdout and stderr are the agent's. */
export function runArguments(options: ContainerOptions, parts: ContainerParts): string[] {
  const { memory, cpus, pids = PIDS, network, workspaceAt = WORKSPACE } = options;
  const capabilities = options.dropCapabilities === true ? [] : CAPABILITIES;
  const { name, program, socketFolder, workspace, agentArguments } = parts;
  const hasWorkspace = workspace !== undefined;
  const hasSocket = socketFolder !== undefined;
  return [
    "run",
    // Nothing of it stays when it has ended, and it ends with its stdin.
    ...["--rm", "--interactive", `--name=${name}`],
    // What clients send is on its standard streams: no byte of it is a key of the engine's, or logged.
    ...(hasSocket ? [] : ["--detach-keys=", "--log-driver=none"]),
    // What is not there is an error, not a download.
    "--pull=never",
    ...(memory === undefined ? [] : [`--memory=${memory}`]),
    ...(cpus === undefined ? [] : [`--cpus=${cpus}`]),
    `--pids-limit=${pids}`,
    "--cap-drop=ALL",
    ...capabilities.map((name) => `--cap-add=${name}`),
    // No program in the image gives more, as sudo would.
    "--security-opt=no-new-privileges",
    ...(network === undefined ? [] : [`--network=${network}`]),
    `--mount=${bind(program, PROGRAM)},readonly`,
    ...(hasSocket ? [`--mount=${bind(socketFolder, SOCKET_FOLDER)}`] : []),
    ...(hasWorkspace ? [`--mount=${bind(workspace, workspaceAt)}`] : []),
    `--entrypoint=${PROGRAM}`,
    options.image,
    ...(hasSocket
      ? ["--until-stdin-closes", "--listen-socket", `${SOCKET_FOLDER}/${SOCKET}`]
      : ["--listen-stdio"]),
    // Neither in its environment nor on its command line, where commands could read it.
    "--admin-token-stdin",
    ...["--state-dir", STATE_DIR, "--ephemeral"],
    ...(hasWorkspace ? ["--workspace", workspaceAt] : []),
    ...agentArguments,
  ];
}

/** The arguments with which the engine ends a container at once, and removes it. */
export function removeArguments(engine: Engine, name: string): string[] {
  // podman would wait for it to end at SIGTERM.
  return ["rm", "--force", ...(engine === "podman" ? ["--time=0"] : []), name];
}

/** The arguments with which the engine signals the agent in a container. */
export function signalArguments(name: string, signal: StopSignal): string[] {
  return ["kill", `--signal=${signal}`, name];
}

/** The arguments with which the engine describes an image that it has. */
export function inspectArguments(image: string): string[] {
  return ["image", "inspect", image];
}

function bind(source: string, destination: string): string {
  return ["type=bind", field("source", source), field("destination", destination)].join(",");
}

/** A field of what the engines read as comma-separated values (RFC 4180, 2). */
function field(name: string, value: string): string {
  const text = `${name}=${value}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
