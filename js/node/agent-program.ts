/** The platforms that the agent is published for, as Node.js names them: `process.platform`, `process.arch`. */
export const AGENT_PLATFORMS: readonly string[] = ["linux-arm64", "linux-x64"];

/** The npm package with the agent for a platform. */
export function agentPackage(platform: string): string {
  return `@sandpipe/agent-${platform}`;
}

/** What there is on this machine that could be run as the agent. */
export interface AgentCandidates {
  /** The platform of this process. */
  platform: string;
  /** `SANDPIPE_AGENT`. */
  named: string | undefined;
  /** The programs in packages that are installed, by the platform that they are for. */
  packaged: ReadonlyMap<string, string>;
}

/** The program to run as the agent. */
export interface AgentProgram {
  /** Its path, or a name that the system looks for in `PATH`. */
  file: string;
  origin: "SANDPIPE_AGENT" | "package" | "PATH";
}

/**
 * Chooses the program of the agent: the one that `SANDPIPE_AGENT` names, else the one in this platform's package,
 * else the one in `PATH`.
 */
export function chooseAgent(candidates: AgentCandidates): AgentProgram {
  const { platform, named, packaged } = candidates;
  if (named !== undefined && named !== "") return { file: named, origin: "SANDPIPE_AGENT" };
  const ownPackage = packaged.get(platform);
  if (ownPackage !== undefined) return { file: ownPackage, origin: "package" };
  return { file: "sandpipe-agent", origin: "PATH" };
}

/** The system's errors where the path of a program is what is wrong. */
const UNUSABLE = new Set(["EACCES", "ELOOP", "ENAMETOOLONG", "ENOENT", "ENOEXEC", "ENOTDIR"]);

/** Why the agent was not started, and what to do. */
export interface StartFailure {
  reason: string;
  /** Undefined where the system's reason says all there is to say. */
  hint?: string;
}

/**
 * Says why a program could not be run as the agent.
 *
 * @param program What {@link chooseAgent} chose of the candidates.
 * @param error What the attempt to run it failed with.
 */
export function explainStartFailure(
  program: AgentProgram,
  candidates: AgentCandidates,
  error: { code?: string; message: string },
): StartFailure {
  if (error.code === "ENOENT" && program.origin === "PATH") {
    return noAgent(candidates, error.message);
  }
  const reason = `${program.file} could not be run: ${error.message}`;
  // Of other errors, such as EAGAIN, the program is not the cause.
  const isUnusable = UNUSABLE.has(error.code ?? "");
  return isUnusable ? { reason, hint: repair(program, candidates.platform) } : { reason };
}

/**
 * There is no program to run: neither a package nor anything in `PATH`.
 *
 * @param missing What was found in `PATH`.
 */
function noAgent({ platform, packaged }: AgentCandidates, missing: string): StartFailure {
  if (!AGENT_PLATFORMS.includes(platform)) {
    return {
      reason: `There is no sandpipe-agent for ${platform}, only for ${AGENT_PLATFORMS.join(" and ")}`,
      hint:
        "What works here: commands in a container of podman or docker (`createSandbox({ image })`; `sandpipe run --image " +
        "IMAGE`), an agent on another machine (`connect({ url, token })`; `sandpipe run --url URL`), background " +
        "processes on a machine over SSH (`sshRuntime({ host })`; `sandpipe bg start --ssh HOST`), and scripts on this " +
        `machine without an agent (\`localRuntime()\` of sandpipe/node${shellNeeded(platform)}).`,
    };
  }
  const own = agentPackage(platform);
  const [other] = packaged.keys();
  if (other !== undefined) {
    return {
      reason:
        `There is no sandpipe-agent for ${platform}: node_modules has ${agentPackage(other)}, not ${own}, so it was ` +
        "installed on another platform, or for another one",
      hint: "Remove node_modules and install it on this platform.",
    };
  }
  return {
    reason: `There is no sandpipe-agent: ${own}, an optional dependency of sandpipe, is not installed, and ${missing}`,
    hint:
      "Install with optional dependencies (`npm install --include=optional`); if that changes nothing, remove node_modules " +
      "and package-lock.json, and install again. If your application is bundled, keep sandpipe out of the bundle (in Next.js: " +
      '`serverExternalPackages: ["sandpipe"]`), or name an agent in SANDPIPE_AGENT.',
  };
}

/** What localRuntime() needs that may not be there. */
function shellNeeded(platform: string): string {
  return platform.startsWith("win32-")
    ? ", which needs a POSIX shell: Git Bash's `sh` in PATH"
    : "";
}

/** How a program ended that was run as the agent. */
export interface EarlyEnd {
  exitCode: number | null;
  signal: string | null;
  /** What it wrote to stderr. */
  stderr: string;
}

/** How a line begins by which an agent says what is wrong: its own errors, and those of its flags. */
const AGENT_ERROR = /^(sandpipe-agent|error): /m;

/**
 * Says why a program that was run as the agent is not one that listens: it has ended. So does what has no format that the
 * system knows: it is run as a shell script (`execvp` of POSIX).
 *
 * @param program What {@link chooseAgent} chose.
 * @param platform The platform of this process.
 */
export function explainEarlyEnd(
  program: AgentProgram,
  platform: string,
  { exitCode, signal, stderr }: EarlyEnd,
): StartFailure {
  const said = stderr.trim();
  // Then it is an agent, and has said what is wrong.
  if (AGENT_ERROR.test(said)) {
    return { reason: `The agent did not start: ${said.replace(/^sandpipe-agent: /m, "")}` };
  }
  const how = signal === null ? `with exit code ${exitCode}` : `by ${signal}`;
  const reason = `${program.file} ended before it listened, ${how}: ${said || "it said nothing"}`;
  return { reason, hint: replacement(program, platform) };
}

/**
 * Says that a program that was run as the agent is none, by what it wrote.
 *
 * @param program What {@link chooseAgent} chose.
 * @param platform The platform of this process.
 * @param line The first line that it wrote to stdout.
 */
export function explainWrongLine(
  program: AgentProgram,
  platform: string,
  line: string,
): StartFailure {
  const reason = `${program.file} did not say where it listens, but: ${line}`;
  // This project's own is an agent, whatever it was told to print, as by `--help`.
  const isOwn = program.origin === "package";
  return isOwn ? { reason } : { reason, hint: replacement(program, platform) };
}

/**
 * Says that a program that was run as the agent has not said where it listens.
 *
 * @param program What {@link chooseAgent} chose.
 * @param platform The platform of this process.
 * @param waited How long that was waited for, in milliseconds.
 * @param stderr What it wrote to stderr.
 */
export function explainSilence(
  program: AgentProgram,
  platform: string,
  waited: number,
  stderr: string,
): StartFailure {
  const said = stderr.trim() || "it said nothing";
  const reason = `${program.file} did not say where it listens within ${waited / 1000} s: ${said}`;
  const isOwn = program.origin === "package";
  return isOwn ? { reason } : { reason, hint: replacement(program, platform) };
}

/** What to do about a program that runs, and is no agent for this platform. */
function replacement(program: AgentProgram, platform: string): string {
  return program.origin === "package"
    ? `It comes from the package ${agentPackage(platform)}: install that again.`
    : repair(program, platform);
}

/** What to do about a program that can't be run. */
function repair({ file, origin }: AgentProgram, platform: string): string {
  switch (origin) {
    case "SANDPIPE_AGENT":
      return "SANDPIPE_AGENT names it: name an agent for this platform there, or unset it.";
    case "package":
      return (
        `It comes from the package ${agentPackage(platform)}: it has to be executable (\`chmod +x\`), on a file ` +
        "system that allows that. Where it is missing, install the package again."
      );
    case "PATH":
      return `It is the first ${file} in PATH: replace it, or name another one in SANDPIPE_AGENT.`;
  }
}
