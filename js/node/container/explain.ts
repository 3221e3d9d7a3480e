// Why there is no container with an agent in it, and what to do.
import { agentPackage, type EarlyEnd, type StartFailure } from "../agent-program.js";
import { type Engine, ENGINES } from "./options.js";

/**
 * None of the engines that would do is in `PATH`.
 *
 * @param leftOut Which of them are there and may not be started, and why.
 */
export function explainNoEngine(
  named: Engine | undefined,
  leftOut: readonly string[],
): StartFailure {
  if (named !== undefined) {
    const others = ENGINES.filter((engine) => engine !== named).join(" or ");
    const missing = leftOut[0] ?? `there is no ${named} in PATH`;
    return {
      reason: `An image is run by ${named}, and ${missing}`,
      hint: `Install it (on Debian and Ubuntu: \`apt-get install ${packageOf(named)}\`), or use ${others} if that is there.`,
    };
  }
  const missing = leftOut.length > 0 ? leftOut.join(", ") : "neither is in PATH";
  return {
    reason: `An image is run by ${ENGINES.join(" or ")}, and ${missing}`,
    hint: "Install one (on Debian and Ubuntu: `apt-get install podman`).",
  };
}

function packageOf(engine: Engine): string {
  return engine === "docker" ? "docker.io" : engine;
}

/** What the engine says of an image that it does not have. */
const NO_IMAGE = /no such (image|object)|image not known/i;

/**
 * The engine did not describe an image.
 *
 * @param stderr What it said.
 */
export function explainNoDescription(engine: Engine, image: string, stderr: string): StartFailure {
  if (NO_IMAGE.test(stderr)) {
    return {
      reason: `${engine} has no image ${image} on this machine`,
      hint: `\`${engine} pull ${image}\` fetches it.`,
    };
  }
  return {
    reason: `${engine} could not be asked for the image ${image}: ${sentence(stderr)}`,
    hint: `Check that \`${engine} info\` works for this user.`,
  };
}

/** What a program said, as a part of a sentence. */
function sentence(stderr: string): string {
  return stderr.trim().replace(/[.?!]$/, "") || "it said nothing";
}

/** The platform of an image: the system and the processor, as its engine names them. */
export interface ImagePlatform {
  os: string;
  architecture: string;
}

/** What Node.js calls a processor, by the name that images have for it (the GOARCH of Go). */
const PROCESSORS: Readonly<Record<string, string>> = { amd64: "x64", arm64: "arm64" };

/** The platform as Node.js names it, which is how the agent's packages are named. */
export function nodePlatform({ os, architecture }: ImagePlatform): string {
  return `${os}-${PROCESSORS[architecture] ?? architecture}`;
}

/**
 * There is no agent that could run in an image.
 *
 * @param own The platform of this machine, as Node.js names it.
 * @param published The platforms that there are agents for.
 */
export function explainOtherPlatform(
  engine: Engine,
  image: string,
  platform: ImagePlatform,
  own: string,
  published: readonly string[],
): StartFailure {
  const wanted = nodePlatform(platform);
  const [, cpu] = own.split("-");
  // Containers are Linux's everywhere.
  const fitting = `linux-${cpu}`;
  if (wanted === fitting && published.includes(wanted)) {
    return {
      reason: `The image ${image} needs the agent for ${wanted}, and ${agentPackage(wanted)} is not installed`,
      hint: "It is an optional dependency of sandpipe: install with these (`npm install --include=optional`), or name the agent in SANDPIPE_AGENT.",
    };
  }
  const reason = `The image ${image} is for ${wanted}, and the agent that is here is for ${fitting}`;
  const architecture = Object.keys(PROCESSORS).find((name) => PROCESSORS[name] === cpu) ?? cpu;
  const pull = `\`${engine} pull --platform linux/${architecture} ${image}\` fetches the one for this machine`;
  if (!published.includes(wanted)) return { reason, hint: `${pull}.` };
  const emulated = `where this machine emulates the other, \`npm install --force ${agentPackage(wanted)}\` brings its agent`;
  return { reason, hint: `${pull}; ${emulated}.` };
}

/** How a line begins by which an agent says what is wrong: its own errors, and those of its flags. */
const AGENT_ERROR = /^(sandpipe-agent|error): /m;
/** What an engine says of a program for another processor (ENOEXEC). */
const OTHER_FORMAT = /exec format error/i;
/** What it says where the program is there, and the loader that it names is not; or where it is not there. */
const NO_LOADER = /no such file or directory/i;
const NO_RIGHT = /permission denied/i;

/** A container ended before the agent in it listened. */
export function explainContainerEnd(
  engine: Engine,
  image: string,
  program: string,
  { exitCode, signal, stderr }: EarlyEnd,
): StartFailure {
  const how = signal === null ? `with exit code ${exitCode}` : `by ${signal}`;
  const said = sentence(stderr);
  const reason = `The container of ${image} ended before its agent listened (${engine} run ended ${how}): ${said}`;
  if (AGENT_ERROR.test(stderr)) return { reason };
  if (OTHER_FORMAT.test(stderr)) {
    return {
      reason,
      hint: "The image is for another processor, and this machine does not emulate that: pull it for this one, with `--platform`.",
    };
  }
  if (exitCode === 127 || (exitCode === 126 && NO_LOADER.test(stderr))) {
    return {
      reason,
      hint: `The agent has to be a static program, which runs in any image; this one is ${program}.`,
    };
  }
  if (NO_RIGHT.test(stderr)) {
    return {
      reason,
      hint: `Where SELinux is the reason, \`label = false\` below [containers] in containers.conf lets containers use what is mounted.`,
    };
  }
  return { reason };
}

/** A container ran, and what is in it is no agent of ours. */
export function explainStranger(image: string, program: string, said: string): StartFailure {
  return {
    reason: `The agent in the container of ${image} did not say where it listens, but: ${said}`,
    hint: `Check that ${program} is a sandpipe-agent of this version.`,
  };
}

/** The agent in a container has not said where it listens for so many milliseconds. */
export function explainSilentContainer(
  image: string,
  waited: number,
  stderr: string,
): StartFailure {
  const said = sentence(stderr);
  return {
    reason: `The agent in the container of ${image} does not listen after ${waited / 1000} s: ${said}`,
  };
}

/** What engines say of a limit that the machine can't hold, and go on without. */
const LIMIT_DROPPED = /^.*(limitation discarded|limits? (are|is) not supported).*$/im;

/**
 * Says that a limit that was asked for is not held; undefined where the engine says nothing of that.
 *
 * @param stderr What the engine said before the agent listened.
 */
export function explainDroppedLimit(engine: Engine, stderr: string): StartFailure | undefined {
  const [line] = LIMIT_DROPPED.exec(stderr) ?? [];
  if (line === undefined) return undefined;
  return {
    reason: `${engine} can't hold a limit that was asked for: ${line.trim()}`,
    hint: "Use a machine with cgroups of version 2 that are delegated to you, or leave the limit out.",
  };
}
