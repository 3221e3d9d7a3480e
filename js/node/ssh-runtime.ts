// So that the types compile for users whose `lib` is older.
/// <reference lib="esnext.disposable" preserve="true" />

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

import { onAbort } from "../abort.js";
import { checkSignal, checkText } from "../arguments.js";
import { ClosedError, type SshError } from "../core/errors.js";
import type { AbortSignal as Signal } from "../platform.js";
import type { RunResult, Runtime } from "../runtime.js";
import { environmentOfPrograms } from "./find-program.js";
import { Connections } from "./ssh/connections.js";
import { interrupted, lost, noShell, notRun, refusal, type Stopped } from "./ssh/failures.js";
import { sshArguments, type SshRuntimeOptions } from "./ssh/options.js";
import { greeting, RemoteOutput, stopScript, wrapped } from "./ssh/remote-script.js";
import { restOfOutput } from "./rest-of-output.js";
import { outputLimit } from "./transcript.js";

/** How long a script may take to end after SIGTERM, in milliseconds. */
const GRACE_MS = 10_000;

/** How long it may take to go after SIGKILL, in milliseconds. */
const KILL_TIMEOUT_MS = 5_000;

/** How long a shell that is to stop a script may take to be there, in milliseconds. */
const SHELL_TIMEOUT_MS = 10_000;

/** How long what was said already may be on its way, in milliseconds. */
const DRAIN_TIMEOUT_MS = 5_000;

/**
 * A machine that is reached over SSH: scripts run there with its `sh`. It uses the system's OpenSSH,
 * whose connection is made with the first script and shared by all. Whatever the user's configuration says,
 * neither agent nor screen nor ports are forwarded, and nothing runs on this machine for the other side. What
 * the configuration has run to find the host, to reach it or to know its key (`ProxyCommand`, `Match exec`,
 * `KnownHostsCommand`) is run.
 *
 * @throws {InvalidArgumentError} An option is wrong.
 */
export function sshRuntime(options: SshRuntimeOptions): SshRuntime {
  return new SshRuntime(options);
}

/** A machine that is reached over SSH. {@link sshRuntime} makes one. */
export class SshRuntime implements Runtime, AsyncDisposable {
  readonly #connections: Connections;
  readonly #host: string;
  #closed = false;
  /** What stops each script that is under way. */
  readonly #underWay = new Map<Promise<unknown>, AbortController>();

  /** @internal */
  constructor(options: SshRuntimeOptions) {
    const args = sshArguments(options);
    this.#connections = new Connections(options.host, args);
    this.#host = options.host;
  }

  /**
   * Runs a script in the user's home directory, to the end of what `sh -c` makes of it there: it has a shell
   * and a process group of its own (`$$`), and an empty stdin. 128 + N is the code of death by signal N.
   * A connection that has ended meanwhile is made anew; a script is never repeated. It resolves when the script has
   * ended and its output is at its end, or silent for 200 ms, at most 2 s later. Jobs in the background go on; they
   * have no stdout any more.
   *
   * @param options `signal`: aborted, its process group is stopped: SIGTERM, 10 s, SIGKILL.
   * @throws {SshError} The machine can't be reached, or the connection was lost before the end:
   * `mayHaveRun` says which.
   * @throws {InterruptedError} `signal` was aborted, or this runtime closed. The message says so if the
   * script may still run, since the machine could not be reached any more, say.
   * @throws {OutputLimitError} The output is longer than a string can be; the script was stopped.
   * @throws {ClosedError} This runtime has been closed.
   * @throws {InvalidArgumentError} The script or an option is wrong.
   */
  async run(script: string, options?: { signal?: Signal }): Promise<RunResult> {
    checkText("script", script);
    const signal = checkSignal(options);
    if (this.#closed) throw new ClosedError("this SSH runtime is closed");
    const stop = new AbortController();
    const abort = (): void => {
      stop.abort(signal?.reason);
    };
    if (signal?.aborted === true) abort();
    const endListening = onAbort(signal, abort);
    const running = this.#runOnce(script, stop.signal);
    this.#underWay.set(running, stop);
    try {
      return await running;
    } finally {
      this.#underWay.delete(running);
      endListening();
    }
  }

  /** Stops the scripts that are under way and ends the connection, also when it is called again. */
  async close(): Promise<void> {
    this.#closed = true;
    const reason = new ClosedError("this SSH runtime was closed");
    for (const stop of this.#underWay.values()) stop.abort(reason);
    await Promise.allSettled(this.#underWay.keys());
    await this.#connections.close();
  }

  /** The same as {@link SshRuntime.close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #runOnce(script: string, stop: AbortSignal): Promise<RunResult> {
    return this.#withShell(stop, async (remote) => {
      let stopping: Promise<Stopped> | undefined;
      const act = (): void => {
        stopping = this.#stop(remote);
      };
      stop.addEventListener("abort", act, { once: true });
      remote.send(script);
      await remote.ended;
      stop.removeEventListener("abort", act);
      const { cut } = remote.said;
      if (cut) stopping ??= this.#stop(remote);
      const stopped = await stopping;
      const { exitCode } = remote;
      const { output } = remote.said;
      if (cut) throw outputLimit(output, stopped?.left === true, stopped?.cause);
      if (stopped !== undefined) throw interrupted(stop, output, stopped);
      if (exitCode === undefined) throw lost(this.#host, remote.errors, output);
      return { exitCode, output };
    });
  }

  /** Does something with a shell over there. Up to then, `signal` ends the attempt. */
  #withShell<T>(signal: AbortSignal, act: (remote: RemoteShell) => Promise<T>): Promise<T> {
    return this.#connections.use(signal, async (program, sshArguments) => {
      const remote = new RemoteShell(program, sshArguments);
      const kill = (): void => {
        remote.kill();
      };
      signal.addEventListener("abort", kill, { once: true });
      const there = await remote.greeted;
      signal.removeEventListener("abort", kill);
      if (signal.aborted) throw interrupted(signal);
      if (!there) throw remote.refused(this.#host);
      return act(remote);
    });
  }

  /** Stops the process group of a script. */
  async #stop(remote: RemoteShell): Promise<Stopped> {
    const { group } = remote.said;
    try {
      if (group === undefined) {
        return { forced: false, left: true, cause: new Error("it leads no process group") };
      }
      const script = stopScript(group, GRACE_MS, KILL_TIMEOUT_MS);
      const output = await this.#tell(script).catch(() => {
        // Perhaps it is the connection alone that does not answer any more.
        this.#connections.renew();
        return this.#tell(script);
      });
      // A process that left the group may hold the stream open for ever.
      await Promise.race([remote.ended, pause(DRAIN_TIMEOUT_MS, undefined, { ref: false })]);
      return { forced: output.includes("forced"), left: output.includes("left") };
    } catch (cause) {
      return { forced: false, left: true, cause };
    } finally {
      remote.kill();
    }
  }

  /** Runs a script that stops another; resolves its output. */
  #tell(script: string): Promise<string> {
    return this.#withShell(AbortSignal.timeout(SHELL_TIMEOUT_MS), async (remote) => {
      remote.send(script);
      const longest = GRACE_MS + KILL_TIMEOUT_MS + DRAIN_TIMEOUT_MS;
      await Promise.race([remote.ended, pause(longest, undefined, { ref: false })]);
      remote.kill();
      const { output } = remote.said;
      if (remote.exitCode === undefined) throw lost(this.#host, remote.errors, output);
      return output;
    });
  }
}

/** A remote `sh` and the `ssh` that leads to it. */
class RemoteShell {
  readonly said: RemoteOutput;
  /** Resolves when the shell is there; false where it will never be. */
  readonly greeted: Promise<boolean>;
  /** Resolves when the script has ended, or nothing more can come or be kept. */
  readonly ended: Promise<void>;
  /** What `ssh` itself said. */
  errors = "";
  /** Why `ssh` could not be run. */
  #failure: unknown;
  readonly #nonce = randomUUID();
  readonly #child: ChildProcess;

  constructor(program: string, sshArguments: readonly string[]) {
    this.said = new RemoteOutput(this.#nonce);
    // Ctrl+C is the caller's, and nobody is asked for a password.
    this.#child = spawn(program, [...sshArguments, "exec sh"], {
      ...{ detached: true, stdio: "pipe", env: environmentOfPrograms() },
    });
    let greet: (there: boolean) => void;
    let end: () => void;
    this.greeted = new Promise((resolve) => (greet = resolve));
    this.ended = new Promise((resolve) => (end = resolve));
    const gone = (): void => {
      greet(false);
      end();
    };
    const over = (): void => {
      end();
      // What the script left in the background may hold the stream open for ever.
      this.kill();
    };
    let ending = false;
    this.#child.once("close", gone).once("error", (error) => {
      this.#failure = error;
      gone();
    });
    // One that could not be started may have no pipes.
    const { stdin, stdout, stderr } = this.#child;
    stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.said.feed(text);
      if (this.said.there) greet(true);
      if (this.said.cut) end();
      if (this.said.exitCode === undefined || ending) return;
      ending = true;
      void restOfOutput(stdout).then(over);
    });
    stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.errors += text;
      // The rest of its output may come after that.
      if (this.exitCode !== undefined) setTimeout(over, DRAIN_TIMEOUT_MS).unref();
    });
    // A shell that has ended takes no more; its end is what counts.
    stdin?.on("error", () => undefined).write(greeting(this.#nonce));
  }

  /** The script's exit code, once it is known. */
  get exitCode(): number | undefined {
    return this.said.exitCode ?? this.said.exitCodeIn(this.errors);
  }

  /** Why there is no shell. */
  refused(host: string): SshError {
    if (this.#failure !== undefined) return notRun(this.#failure);
    const { exitCode } = this.#child;
    // OpenSSH's own failures are 255 (ssh, EXIT STATUS); so may be what it ran.
    if (exitCode === null || exitCode === 255) return refusal(host, this.errors);
    return noShell(host, exitCode, `${this.said.before}\n${this.errors}`);
  }

  send(script: string): void {
    this.#child.stdin?.end(wrapped(script));
  }

  /** Ends `ssh`. What runs at the other end is not notified. */
  kill(): void {
    this.#child.kill("SIGKILL");
    // A master that is there has this open, too: without an end the child would never be closed.
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }
}
