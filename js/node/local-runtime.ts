import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { constants } from "node:os";
import { setImmediate as turn, setTimeout } from "node:timers/promises";

import type { Runtime } from "../runtime.js";
import type { ExecResult } from "../types.js";
import { taskkill } from "./windows/taskkill.js";

/** How to run scripts on this machine. */
export interface LocalRuntimeOptions {
  /** The shell: a path, or a name that is looked up in `PATH`. Default: `sh`. */
  shell?: string;
}

/** How long a script that is stopped may take to end after SIGTERM. */
const GRACE_MS = 10_000;

/** How long a group is looked at after SIGKILL: where nobody reaps orphans, its zombies stay. */
const KILL_PATIENCE_MS = 5_000;

/** How often a group is looked at that is to end. */
const POLL_MS = 20;

/** The longest argument that Linux takes, in bytes (`MAX_ARG_STRLEN` without the NUL at its end). */
const LONGEST_ARGUMENT = 128 * 1024 - 1;

/**
 * This machine as a runtime: each script is a child of this process, in a session of its own.
 *
 * A script that is aborted is stopped with its whole process group: SIGTERM, 10 s for it to end, then
 * SIGKILL. When nothing of it is left, its `run` rejects with the signal's reason. One that can't be
 * started rejects with the system's error.
 *
 * On Windows, with Git Bash as the shell, `taskkill` ends the script; that was not run.
 */
export function localRuntime({ shell = "sh" }: LocalRuntimeOptions = {}): Runtime {
  return {
    async run(script, { signal } = {}) {
      signal?.throwIfAborted();
      const { args, input } = carry(script);
      const child = spawn(shell, args, { detached: true, stdio: ["pipe", "pipe", "pipe"] });
      let stopped: Promise<void> | undefined;
      const onAbort = (): void => {
        stopped = stop(child);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      try {
        const result = await runToEnd(child, input);
        await stopped;
        signal?.throwIfAborted();
        return result;
      } finally {
        signal?.removeEventListener("abort", onAbort);
      }
    },
  };
}

/** Takes what comes on stdin for a script, unless it was cut before the mark at its end. */
const RUN_STDIN = [
  'set -- "$(cat)" "$1"',
  "case $1 in",
  // The script is to see no arguments.
  '*"$2") eval "set --',
  '${1%"$2"}" </dev/null ;;',
  "*) echo 'the script was cut on its way to the shell' >&2; exit 125 ;;",
  "esac",
].join("\n");

/**
 * How a shell gets a script: one that is too long for an argument comes on stdin, and of one that is cut
 * nothing is run. `cat` reads it: bash would take it byte by byte. The script itself has nothing to read
 * either way.
 */
function carry(script: string): { args: string[]; input: string } {
  if (Buffer.byteLength(script) <= LONGEST_ARGUMENT) return { args: ["-c", script], input: "" };
  const mark = randomUUID();
  return { args: ["-c", RUN_STDIN, "sh", mark], input: script + mark };
}

/** Resolves when the shell has ended, though what it left behind may still have its output open. */
async function runToEnd(child: ChildProcess, input: string): Promise<ExecResult> {
  const pieces: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (piece: Buffer) => pieces.push(piece));
  }
  // The shell may have ended without reading all of it.
  child.stdin?.on("error", () => undefined).end(input);
  const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  await drain(pieces);
  for (const stream of child.stdio) stream?.destroy();
  return {
    // As a shell has it.
    exitCode: code ?? 128 + (signal === null ? 0 : constants.signals[signal]),
    output: Buffer.concat(pieces).toString("utf8"),
  };
}

/** What was written before the end is in the pipes: it is all there when a turn brings no more. */
async function drain(pieces: readonly Buffer[]): Promise<void> {
  let before;
  do {
    before = pieces.length;
    await turn();
    await turn();
  } while (pieces.length > before);
}

/** Stops a process with its group, and resolves when nothing of it is left. */
async function stop(child: ChildProcess): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  if (process.platform === "win32") {
    const [command, args] = taskkill(pid, { force: true });
    await once(spawn(command, args, { stdio: "ignore" }), "exit");
    return;
  }
  const deadline = performance.now() + GRACE_MS;
  let there = signalGroup(pid, "SIGTERM");
  // One that is suspended takes it only when it goes on.
  signalGroup(pid, "SIGCONT");
  while (there && performance.now() < deadline + KILL_PATIENCE_MS) {
    await setTimeout(POLL_MS);
    there = signalGroup(pid, performance.now() < deadline ? 0 : "SIGKILL");
  }
}

/** Says whether there is anything left that it could be sent to. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}
