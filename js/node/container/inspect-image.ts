import { execFile } from "node:child_process";

import { agentError } from "../agent-address.js";
import { environmentOfPrograms } from "../find-program.js";
import { inspectArguments } from "./command-line.js";
import { explainNoDescription, type ImagePlatform } from "./explain.js";
import type { FoundEngine } from "./find-engine.js";

/** How long an engine may take to describe an image, in milliseconds: docker may be starting. */
const INSPECT_TIMEOUT = 60_000;
/** More than any description has, in bytes: it tells the history of all layers. */
const MAX_DESCRIPTION = 64 * 1024 * 1024;

/**
 * Asks the engine for the platform of an image.
 *
 * @throws {AgentError} It does not have it, or does not answer.
 */
export async function inspectImage(found: FoundEngine, image: string): Promise<ImagePlatform> {
  const { engine, program } = found;
  const { error, stdout, stderr } = await run(program, inspectArguments(image));
  const platform = error === null ? readPlatform(stdout) : undefined;
  if (platform !== undefined) return platform;
  throw agentError(explainNoDescription(engine, image, stderr || (error?.message ?? stdout)));
}

/** The platform that a description tells; undefined where it is none. */
export function readPlatform(description: string): ImagePlatform | undefined {
  try {
    const [image] = JSON.parse(description) as { Os?: unknown; Architecture?: unknown }[];
    const { Os: os, Architecture: architecture } = image ?? {};
    if (typeof os !== "string" || typeof architecture !== "string") return undefined;
    return { os, architecture };
  } catch {
    return undefined;
  }
}

function run(
  program: string,
  args: string[],
): Promise<{ error: Error | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const options = {
      env: environmentOfPrograms(),
      timeout: INSPECT_TIMEOUT,
      maxBuffer: MAX_DESCRIPTION,
    };
    execFile(program, args, options, (error, stdout, stderr) => {
      resolve({ error, stdout, stderr });
    });
  });
}
