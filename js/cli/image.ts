import { resolve } from "node:path";

import { InvalidArgumentError } from "../core/errors.js";
import {
  type ConnectionKind,
  type ContainerOptions,
  containerOptions,
  type Engine,
} from "../node/container/options.js";
import { grouped, type Options, UsageError, type Values } from "./command.js";
import { positiveNumber } from "./option-values.js";

/** The options that ask for a container. */
export const IMAGE = {
  ...grouped("Container", {
    image: {
      value: "IMAGE",
      help: "an agent of its own in a container of this image, which podman or docker has",
    },
    engine: {
      value: "ENGINE",
      help: "the image's engine [default: podman, else docker]",
      offers: ["podman", "docker"],
    },
    "workspace-at": {
      value: "PATH",
      help: "where that is in the container [default: /workspace]",
    },
    memory: { value: "SIZE", help: "the container's memory, such as 512m or 2g" },
    cpus: { value: "NUMBER", help: "the container's processors, such as 1.5" },
    pids: { value: "NUMBER", help: "how many processes the container may have [default: 2048]" },
    network: {
      value: "NAME",
      help: "the container's network: none, host, or one of the engine's [default: the engine's]",
    },
    connection: {
      value: "KIND",
      help: "how the container's agent is reached: by a mounted socket, or over its stdio [default: socket on Linux, else stdio]",
      offers: ["socket", "stdio"],
    },
    "drop-capabilities": { help: "take all capabilities from the container's root" },
  }),
  ...grouped("Isolation", {
    workspace: {
      value: "DIR",
      help: "the directory that commands run in and may write [default: the current one; with --image, none]",
    },
  }),
} as const satisfies Options;

/**
 * The container that the options ask for; undefined where they name no image.
 *
 * @throws {UsageError} One is wrong, or is for an image where none is named.
 */
export function containerNamed(values: Values<typeof IMAGE>): ContainerOptions | undefined {
  const { image, workspace, "workspace-at": workspaceAt, memory, network, cpus, pids } = values;
  try {
    return containerOptions({
      ...{ image, workspaceAt, memory, network },
      // Without an image it is the agent's on this machine.
      workspace: image === undefined ? undefined : workspace,
      engine: values.engine as Engine | undefined,
      connection: values.connection as ConnectionKind | undefined,
      cpus: cpus === undefined ? undefined : Number(cpus),
      dropCapabilities: values["drop-capabilities"] ? true : undefined,
      pids: pids === undefined ? undefined : positiveNumber("--pids", pids),
    });
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new UsageError(inOptions(error.message), { cause: error });
  }
}

/** A message about fields, in words of the command line. */
function inOptions(message: string): string {
  return message.replace(
    /`options\.(\w+)`/g,
    (_, name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  );
}

/** The options that were given, as another command line is to have them, from whatever directory. */
export function imageArguments(values: Values<typeof IMAGE>): string[] {
  return (Object.keys(IMAGE) as (keyof typeof IMAGE)[]).flatMap((name) => {
    const value = values[name];
    if (value === undefined || value === false) return [];
    if (value === true) return [`--${name}`];
    return [`--${name}`, name === "workspace" ? resolve(value) : value];
  });
}
