// So that the types compile for users whose `lib` is older.
/// <reference lib="esnext.disposable" preserve="true" />

import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { AgentError } from "../errors.js";

/** How to run the embedded agent. */
export interface StartAgentOptions {
  /** The directory that commands run in by default. Default: the current one. */
  workspace?: string;
  /** More flags for `sandpipe-agent`, such as `["--allow-origin", "http://localhost:5173"]`. */
  args?: readonly string[];
}

/** An agent that belongs to this process. It can be handed to `connect` as it is. */
export class EmbeddedAgent implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  /** @internal */
  constructor(
    /** Its address, on a free loopback port. */
    readonly url: string,
    /** Its token, made for this run. */
    readonly token: string,
    child: ChildProcess,
    ended: Promise<void>,
  ) {
    this.#child = child;
    this.#ended = ended;
  }

  /**
   * Stops its commands (SIGTERM, 10 s, SIGKILL) and then the agent itself. Resolves when it has
   * ended, also when it is called again.
   */
  stop(): Promise<void> {
    return endAgent(this.#child, this.#ended);
  }

  /** The same as {@link EmbeddedAgent.stop}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/**
 * Runs `sandpipe-agent` as a child of this process: the program that `SANDPIPE_AGENT` names, else
 * the one built in the package's workspace, else the one in `PATH`.
 *
 * The agent ends with this process, however that ends, and does not keep it alive.
 *
 * @throws {AgentError} There is no such program, or it did not start.
 */
export async function startAgent(options: StartAgentOptions = {}): Promise<EmbeddedAgent> {
  const program = findProgram();
  const token = randomBytes(32).toString("base64url");
  // Of a name that nobody can guess. The agent makes it for itself alone, and removes it at its end.
  const stateDir = join(tmpdir(), `sandpipe-agent-${randomBytes(16).toString("hex")}`);
  const child = spawn(
    program,
    [
      ...["--listen", "127.0.0.1:0"],
      ...["--state-dir", stateDir],
      ...["--workspace", options.workspace ?? process.cwd()],
      "--ephemeral",
      // Its stdin ends when this process does, also when it is killed.
      "--until-stdin-closes",
      ...(options.args ?? []),
    ],
    {
      // A group of its own: Ctrl+C in a terminal is for this process to act upon, not for both.
      detached: true,
      env: { ...process.env, SANDPIPE_ADMIN_TOKEN: token },
      stdio: ["pipe", "pipe", "pipe"],
    },
  );
  const ended = waitForEnd(child);
  try {
    const url = await waitForAddress(child, program, ended);
    release(child);
    return new EmbeddedAgent(url, token, child, ended);
  } catch (error) {
    await endAgent(child, ended);
    throw error;
  }
}

function findProgram(): string {
  const named = process.env["SANDPIPE_AGENT"];
  if (named !== undefined && named !== "") return named;
  const built = fileURLToPath(new URL("../../target/release/sandpipe-agent", import.meta.url));
  return existsSync(built) ? built : "sandpipe-agent";
}

/** Resolves when the process is gone, also where it never came to be. */
async function waitForEnd(child: ChildProcess): Promise<void> {
  await once(child, "close").catch(() => undefined);
}

/** Reads the line that says where the agent listens. */
async function waitForAddress(
  child: ChildProcess & { stdout: NodeJS.ReadableStream; stderr: NodeJS.ReadableStream },
  program: string,
  ended: Promise<void>,
): Promise<string> {
  let said = "";
  const listen = (text: string): void => {
    said += text;
  };
  child.stderr.setEncoding("utf8").on("data", listen);
  const failure = once(child, "error").then(([error]: unknown[]) => notStarted(program, error));
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([
    once(lines, "line").then(([line]: unknown[]) => String(line)),
    failure,
    ended.then(() => new AgentError(`${program} ended before it listened: ${said.trim()}`)),
  ]);
  lines.close();
  if (line instanceof AgentError) throw line;
  child.stderr.off("data", listen).pipe(process.stderr, { end: false });
  return (JSON.parse(line) as { url: string }).url;
}

function notStarted(program: string, cause: unknown): AgentError {
  const hint =
    "Build it with `cargo build --release -p sandpipe-agent`, put it in PATH, or name it in SANDPIPE_AGENT.";
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AgentError(`${program} could not be run: ${reason}. ${hint}`, { hint, cause });
}

/** Lets this process end while the agent runs. */
function release(child: ChildProcess): void {
  child.unref();
  for (const stream of child.stdio) (stream as unknown as { unref?(): void } | null)?.unref?.();
}

async function endAgent(child: ChildProcess, ended: Promise<void>): Promise<void> {
  child.ref();
  // Once: the agent takes a second SIGTERM for "now", and would kill its commands.
  if (!child.killed) child.kill("SIGTERM");
  await ended;
}
