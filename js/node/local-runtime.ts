import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import { constants } from "node:os";
import { basename, sep } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { setImmediate as turn } from "node:timers/promises";

import { onAbort, throwIfAborted } from "../abort.js";
import { checkFields, checkSignal, checkText } from "../arguments.js";
import { InterruptedError, InvalidArgumentError } from "../core/errors.js";
import { POLICY_SUMMARY, type PolicySummary, type UnderPolicy } from "../policy-summary.js";
import type { RunResult, Runtime } from "../runtime.js";
import { findProgram, lookUp } from "./find-program.js";
import { environmentOfCommands, stopProcessGroup } from "./process.js";
import { restOfOutput } from "./rest-of-output.js";
import { systemError } from "./system-error.js";
import { outputLimit, Transcript } from "./transcript.js";
import { taskkill } from "./windows.js";

/** How to run scripts on this machine. */
export interface LocalRuntimeOptions {
  /** The shell: a path, or a name that is looked up in `PATH`. Default: `sh`. */
  shell?: string;
}

/** The longest argument that Linux takes, in bytes (`MAX_ARG_STRLEN` without the NUL at its end). */
const MAX_ARGUMENT_BYTES = 128 * 1024 - 1;

/** More than a pipe holds, in bytes: with Node.js it is a pair of sockets. */
const PIPE = 1024 * 1024;

/**
 * This machine as a runtime, unconfined: scripts have this process's permissions; `createSandbox()` confines what it runs. Each script is a child of this process, in a session of its own, and what
 * `sh -c SCRIPT` makes of it; bash does not read `~/.bashrc`. It has this process's environment, without the variables
 * `SANDPIPE_*`. Its `run` resolves when the shell has ended and its output is at its end, or silent for 200 ms, at most
 * 2 s later. Processes that the shell left behind go on; they have no stdout any more.
 *
 * A script that is aborted is stopped with its whole process group: SIGTERM, 10 s for it to end, then
 * SIGKILL. When nothing of it is left, its `run` rejects with an {@link InterruptedError}. If something is left
 * even so, as another user's may be, it rejects 5 s after SIGKILL, and the error
 * says it. A script that can't be started rejects with a {@link SystemError} (`mayHaveRun: false`). One that says more than a
 * string can hold is stopped, too: {@link OutputLimitError}.
 *
 * On Windows, with Git Bash as the shell, `taskkill` ends the script; that was not run.
 *
 * @throws {InvalidArgumentError} `shell` is wrong. Of `run`: the script or an option is wrong.
 */
export function localRuntime(options: LocalRuntimeOptions = {}): Runtime {
  checkFields(options, ["shell"]);
  const { shell = "sh" } = options;
  checkShell(shell);
  const runtime: Runtime & UnderPolicy = {
    [POLICY_SUMMARY]: UNCONFINED,
    async run(script, options) {
      checkText("script", script);
      const signal = checkSignal(options);
      throwIfAborted(signal);
      return await runInShell(shell, script, signal);
    },
  };
  return runtime;
}

/** What scripts on this machine may touch. */
const UNCONFINED: PolicySummary = {
  name: "open",
  workspace: "the working directory of this process",
  write: ["/"],
  network: "host",
  git: "any",
  settings: [],
};

async function runInShell(
  shell: string,
  script: string,
  signal: AbortSignal | undefined,
): Promise<RunResult> {
  const { file, name } = findShell(shell);
  const { argv0, args, input } = carry(name, script);
  const child = spawnShell(file, args, argv0, input);
  const halting = new AbortController();
  const halt = (): void => {
    halting.abort();
  };
  const stopped = once(halting.signal, "abort").then(() => stop(child));
  const endListening = onAbort(signal, halt);
  try {
    const collected = collect(child, halt);
    // The shell may have ended without reading all of it.
    child.stdin?.on("error", () => undefined).end(input);
    await Promise.race([once(child, "exit").catch(rethrowNotRun), stopped]);
    if (child.stdout !== null) await Promise.race([restOfOutput(child.stdout), stopped]);
    await drain(child);
    const output = collected();
    const left = halting.signal.aborted && !(await stopped);
    if (output.cut) throw outputLimit(output.text, left);
    if (left) throw leftBehind(signal, output.text);
    throwIfAborted(signal);
    return { exitCode: exitCodeOf(child), output: output.text };
  } finally {
    endListening();
    // What can't be ended, or holds them open, is not to hold up this process.
    child.unref();
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
  }
}

/**
 * Finds a shell, and what it becomes: another of its name, with the script. That is found by `PATH` once more, so that `$0` and what the
 * shell says have its name; unless another program would be found there.
 */
function findShell(shell: string): { file: string; name: string } {
  if (shell.includes("/") || shell.includes(sep)) return { file: shell, name: shell };
  try {
    const file = findProgram(shell);
    return { file, name: lookUp(shell).leftOut.length === 0 ? shell : file };
  } catch (error) {
    return rethrowNotRun(error);
  }
}

function spawnShell(
  shell: string,
  args: readonly string[],
  argv0: string,
  input: string,
): ChildProcess {
  // Any bash whose stdin is a socket, as Node.js's pipes are, takes itself for started by rshd and reads ~/.bashrc.
  const stdin = input === "" ? "ignore" : "pipe";
  const env = environmentOfCommands();
  try {
    return spawn(shell, args, { argv0, detached: true, stdio: [stdin, "pipe", "pipe"], env });
  } catch (error) {
    return rethrowNotRun(error);
  }
}

/** Throws the system's error of a shell that could not be started. */
function rethrowNotRun(error: unknown): never {
  throw systemError(error, { mayHaveRun: false });
}

// Both have the script write to a single pipe, since what comes from two is in no order, and show it no
// arguments.

/** Becomes the very `sh -c SCRIPT`: with `eval`, messages and what is done after an error are others. */
const RUN_ARGUMENT = 'exec 2>&1; exec "$@"';

/** Takes what comes on stdin for a script, unless it was cut before the mark at its end. */
const RUN_STDIN = [
  "exec 2>&1",
  'set -- "$(cat)" "$1"',
  "case $1 in",
  '*"$2") eval "set --; ${1%"$2"}" </dev/null ;;',
  "*) echo 'the script was cut on its way to the shell'; exit 125 ;;",
  "esac",
].join("\n");

/**
 * How a shell gets a script: one that is too long for an argument comes on stdin, and of one that is cut
 * nothing is run. `cat` reads it: bash would take it byte by byte. The script itself has nothing to read
 * either way.
 */
function carry(shell: string, script: string): { argv0: string; args: string[]; input: string } {
  // Where SSH_CLIENT is set it would read ~/.bashrc, whatever its stdin.
  const options = /^bash\b/.test(basename(shell)) ? ["--norc"] : [];
  if (Buffer.byteLength(script) <= MAX_ARGUMENT_BYTES) {
    // By this name no shell reads a start-up file (BASH_ENV), which is for the one that it becomes.
    const args = ["-c", RUN_ARGUMENT, shell, shell, ...options, "-c", "--", script];
    return { argv0: "sh", args, input: "" };
  }
  const mark = randomUUID();
  const args = [...options, "-c", RUN_STDIN, shell, mark];
  return { argv0: shell, args, input: script + mark };
}

/** Collects what a shell and its script write, up to the call of the function that it returns. */
function collect(child: ChildProcess, tooMuch: () => void): () => Transcript {
  const transcript = new Transcript();
  const decoder = new StringDecoder("utf8");
  const append = (text: string): void => {
    transcript.append(text);
    if (transcript.cut) tooMuch();
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (piece: Buffer) => {
      append(decoder.write(piece));
    });
  }
  return () => {
    append(decoder.end());
    return transcript;
  };
}

/**
 * Reads what is in the pipe: it is all there when a turn brings no more. Something that was left behind may go on
 * writing, so it ends after a pipe's content.
 */
async function drain({ stdout }: ChildProcess): Promise<void> {
  const bytesRead = (): number => (stdout as Socket).bytesRead;
  const end = bytesRead() + PIPE;
  let before;
  do {
    before = bytesRead();
    await turn();
    await turn();
  } while (bytesRead() > before && bytesRead() < end);
}

/** Stops a shell with all that it started; resolves whether that is certain. */
async function stop({ pid }: ChildProcess): Promise<boolean> {
  if (pid === undefined) return true;
  if (process.platform !== "win32") return await stopProcessGroup(pid);
  const [command, args] = taskkill(pid);
  const [code] = (await once(spawn(findProgram(command), args, { stdio: "ignore" }), "exit")) as [
    number | null,
  ];
  return code === 0;
}

/** As a shell has it. */
function exitCodeOf({ exitCode, signalCode }: ChildProcess): number {
  return exitCode ?? 128 + (signalCode === null ? 0 : constants.signals[signalCode]);
}

function leftBehind(signal: AbortSignal | undefined, output: string): InterruptedError {
  return new InterruptedError("interrupted, but some of its processes could not be ended", {
    cause: signal?.reason as unknown,
    output,
    exitCode: 130,
    forced: true,
  });
}

function checkShell(shell: unknown): void {
  checkText("options.shell", shell);
  if (shell === "") throw new InvalidArgumentError("`options.shell` must not be empty");
}
