// What a user asks of a container.
import { checkText } from "../../arguments.js";
import { InvalidArgumentError } from "../../core/errors.js";

/** The container engines that can run an agent, in the order in which they are looked for. */
export const ENGINES = ["podman", "docker"] as const;

/** The ways in which an agent in a container is reached. */
export const CONNECTIONS = ["socket", "stdio"] as const;

/** A way in which an agent in a container is reached. */
export type ConnectionKind = (typeof CONNECTIONS)[number];

/** A program that runs containers. */
export type Engine = (typeof ENGINES)[number];

/** Which container commands run in, and what it may take of the machine. */
export interface ContainerOptions {
  /**
   * The image that commands run in, such as `node:22`: one that the engine has on this machine. Nothing of the machine
   * is in the container but what is named here, and the agent's program, read-only.
   */
  image: string;
  /** The container engine. Default: podman if it is in `PATH`, else docker. */
  engine?: Engine | undefined;
  /** A directory of this machine that the container can read and write. Default: none. */
  workspace?: string | undefined;
  /** Where the workspace is in the container. Default: `/workspace`. */
  workspaceAt?: string | undefined;
  /** How much memory all its processes may take together, such as `512m` or `2g`. Default: no limit but the machine's. */
  memory?: string | undefined;
  /** How many processors' time they may take together, such as 1.5. Default: no limit but the machine's. */
  cpus?: number | undefined;
  /** How many processes and threads there may be at once, the agent's included. Default: 2048. */
  pids?: number | undefined;
  /**
   * Whether its root has no capabilities: it is no other user then, and of other users' files it reads and writes what all may. Default:
   * it has those that take an exec's `user` and a package manager, `CHOWN`, `DAC_OVERRIDE`, `FOWNER`, `KILL`, `SETGID` and `SETUID`.
   */
  dropCapabilities?: boolean | undefined;
  /**
   * What network it has: `none`, `host` (that of this machine), or another one that the engine knows. Default: the engine's, in
   * which the container reaches other machines, and nobody reaches it.
   */
  network?: string | undefined;
  /**
   * How this process reaches the agent: by a Unix domain socket in a directory that is mounted
   * (`socket`), or over the container's standard input and output (`stdio`), which also works where
   * containers are in a virtual machine. Default: `socket` on Linux, else `stdio`.
   */
  connection?: ConnectionKind | undefined;
}

/** The same, where there may be no image. */
export type ContainerFields = {
  [Name in keyof ContainerOptions]?: ContainerOptions[Name] | undefined;
};

/** The fields that mean something only with an image. */
const OF_IMAGES = [
  "engine",
  "workspaceAt",
  "memory",
  "cpus",
  "pids",
  "network",
  "dropCapabilities",
  "connection",
] as const;

/** The names of all fields. */
export const CONTAINER_FIELDS = ["image", "workspace", ...OF_IMAGES] as const;

/**
 * The container that options ask for; undefined where they name no image.
 *
 * @throws {InvalidArgumentError} One of them is wrong, or is for an image where none is named.
 */
export function containerOptions(options: ContainerFields): ContainerOptions | undefined {
  const { image, engine, workspace, workspaceAt, memory, cpus, pids, network, dropCapabilities } =
    options;
  const { connection } = options;
  if (image === undefined) {
    const lost = OF_IMAGES.find((name) => options[name] !== undefined);
    if (lost === undefined) return undefined;
    const message = `\`options.${lost}\` is a container's: name its image in \`options.image\``;
    throw new InvalidArgumentError(message);
  }
  checkName("image", image);
  if (engine !== undefined && !ENGINES.includes(engine)) {
    throw wrong("engine", `one of ${ENGINES.join(", ")}`, engine);
  }
  if (workspace !== undefined) checkName("workspace", workspace);
  if (workspaceAt !== undefined) {
    checkName("workspaceAt", workspaceAt);
    if (!workspaceAt.startsWith("/")) {
      throw wrong("workspaceAt", "an absolute path in the container", workspaceAt);
    }
    if (workspace === undefined) {
      throw new InvalidArgumentError(
        "`options.workspaceAt` says where the workspace is mounted: name that in `options.workspace`",
      );
    }
  }
  // The engines take 0 for "no limit".
  if (memory !== undefined && !/^0*[1-9]\d*[bkmg]?$/i.test(memory)) {
    throw wrong("memory", "a size such as 512m or 2g", memory);
  }
  if (cpus !== undefined && !(Number.isFinite(cpus) && cpus > 0)) {
    throw wrong("cpus", "a number above 0", cpus);
  }
  if (pids !== undefined && !(Number.isSafeInteger(pids) && pids > 0)) {
    throw wrong("pids", "a whole number from 1 on", pids);
  }
  if (network !== undefined) checkName("network", network);
  if (dropCapabilities !== undefined && typeof dropCapabilities !== "boolean") {
    throw wrong("dropCapabilities", "true or false", dropCapabilities);
  }
  if (connection !== undefined && !CONNECTIONS.includes(connection)) {
    throw wrong("connection", `one of ${CONNECTIONS.join(", ")}`, connection);
  }
  const limits = { memory, cpus, pids, network, dropCapabilities };
  return { image, engine, workspace, workspaceAt, ...limits, connection };
}

/** A name for the engine's command line, where it must not be taken for an option. */
function checkName(name: string, value: unknown): void {
  checkText(`options.${name}`, value);
  if (value === "" || (name === "image" && String(value).startsWith("-"))) {
    throw wrong(name, "a name", value);
  }
}

function wrong(name: string, right: string, value: unknown): InvalidArgumentError {
  const shown = typeof value === "string" ? JSON.stringify(value) : String(value);
  return new InvalidArgumentError(`\`options.${name}\` must be ${right}, but is ${shown}`);
}
