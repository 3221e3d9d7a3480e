// So that the types compile for users whose `lib` is older.
/// <reference lib="esnext.disposable" preserve="true" />

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

import { ClosedError, InterruptedError, InvalidArgumentError, SshError } from "../errors.js";
import type { Runtime } from "../runtime.js";
import { checkSignal } from "../signal.js";
import type { ExecResult } from "../types.js";
import { Connections } from "./ssh/connections.js";
import { lost, notRun, refusal } from "./ssh/failures.js";
import { sshArguments, type SshRuntimeOptions } from "./ssh/options.js";
import { greeting, RemoteOutput, stopScript, wrapped } from "./ssh/remote-script.js";

/** How long a script may take to end after SIGTERM, in milliseconds. */
const GRACE_MS = 10_000;

/** How long the last words of a script that was stopped may be on their way, in milliseconds. */
const LAST_WORDS_MS = 5000;

/**
 * A machine that is reached over SSH: scripts run there with its `sh`. It uses the system's OpenSSH,
 * whose connection is made with the first script and shared by all.
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
  readonly #closing = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();

  /** @internal */
  constructor(options: SshRuntimeOptions) {
    this.#connections = new Connections(sshArguments(options));
    this.#host = options.host;
  }

  /**
   * Runs a script with the machine's `sh`, in the user's home directory. Its stdin is empty.
   * A connection that has ended meanwhile is made anew; a script that may have begun is never
   * repeated. Jobs in the background go on and do not hold it up; they have no stdout any more.
   *
   * @param opts `signal`: aborted, its process group is stopped: SIGTERM, 10 s, SIGKILL.
   * @throws {SshError} The machine can't be reached, or the connection was lost before the end:
   * `mayHaveRun` says which.
   * @throws {InterruptedError} `signal` was aborted, or this runtime closed.
   * @throws {ClosedError} This runtime has been closed.
   * @throws {InvalidArgumentError} The script or an option is wrong.
   */
  async run(script: string, opts?: { signal?: AbortSignal }): Promise<ExecResult> {
    checkScript(script);
    const signal = checkSignal(opts);
    if (this.#closing.signal.aborted) throw new ClosedError("this SSH runtime is closed");
    if (signal?.aborted === true) throw interrupted(signal);
    const stop = AbortSignal.any([this.#closing.signal, ...(signal === undefined ? [] : [signal])]);
    const running = this.#runOnce(script, stop);
    this.#underWay.add(running);
    try {
      return await running;
    } finally {
      this.#underWay.delete(running);
    }
  }

  /** Stops the scripts that are under way and ends the connection, also when it is called again. */
  async close(): Promise<void> {
    this.#closing.abort(new ClosedError("this SSH runtime was closed"));
    await Promise.allSettled(this.#underWay);
    await this.#connections.close();
  }

  /** The same as {@link SshRuntime.close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #runOnce(script: string, stop: AbortSignal): Promise<ExecResult> {
    let result = await this.#attempt(script, stop);
    if (result instanceof SshError) {
      // It never began: the connection broke before. If there is none to be had, that shows now.
      this.#connections.renew();
      result = await this.#attempt(script, stop);
    }
    if (result instanceof SshError) throw result;
    return result;
  }

  /** Runs a script, or gives the reason why it never began over a connection that was there. */
  #attempt(script: string, stop: AbortSignal): Promise<ExecResult | SshError> {
    return this.#connections.use(async (sshArguments) => {
      if (isAborted(stop)) throw interrupted(stop);
      const remote = new RemoteShell([...sshArguments, "exec sh"]);
      const stops: Promise<Stopped>[] = [];
      const act = (): void => {
        stops.push(this.#stop(remote));
      };
      stop.addEventListener("abort", act, { once: true });
      if ((await remote.greeted) && !isAborted(stop)) remote.send(script);
      await remote.ended;
      stop.removeEventListener("abort", act);
      const [stopped] = await Promise.all(stops);
      const { output, exitCode } = remote.said;
      if (stopped !== undefined) throw interrupted(stop, output, stopped);
      if (exitCode !== undefined) return { exitCode, output };
      if (remote.failure !== undefined) throw notRun(remote.failure);
      if (remote.sent) throw lost(this.#host, remote.errors, output);
      return refusal(this.#host, remote.errors);
    });
  }

  /** Stops the remote process group. */
  async #stop(remote: RemoteShell): Promise<Stopped> {
    const { pid } = remote.said;
    if (pid === undefined || !remote.sent) {
      remote.kill();
      return { forced: false };
    }
    try {
      const never = new AbortController().signal;
      const { output } = await this.#runOnce(stopScript(pid, GRACE_MS), never);
      // A process that left the group may hold the stream open for ever.
      await Promise.race([remote.ended, pause(LAST_WORDS_MS, undefined, { ref: false })]);
      return { forced: output.includes("forced"), left: output.includes("left") };
    } catch (error) {
      return { forced: false, left: true, cause: error };
    } finally {
      remote.kill();
    }
  }
}

/** What became of a stop. */
interface Stopped {
  forced: boolean;
  /** Something may still run. */
  left?: boolean;
  cause?: unknown;
}

/** A remote `sh` and the `ssh` that leads to it. */
class RemoteShell {
  readonly said: RemoteOutput;
  /** Resolves when the shell is there; false where it will never be. */
  readonly greeted: Promise<boolean>;
  /** Resolves when the script has ended, or nothing more can come. */
  readonly ended: Promise<void>;
  /** The script is on its way. */
  sent = false;
  /** What `ssh` itself said. */
  errors = "";
  /** Why `ssh` could not be run. */
  failure: unknown;
  readonly #nonce = randomBytes(16).toString("hex");
  readonly #child: ChildProcessWithoutNullStreams;

  constructor(sshArguments: readonly string[]) {
    this.said = new RemoteOutput(this.#nonce);
    const child = spawn("ssh", sshArguments, { stdio: "pipe" });
    this.#child = child;
    let greet: (there: boolean) => void;
    let end: () => void;
    this.greeted = new Promise((resolve) => (greet = resolve));
    this.ended = new Promise((resolve) => (end = resolve));
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.said.feed(text);
      if (this.said.pid !== undefined) greet(true);
      if (this.said.exitCode !== undefined) {
        end();
        // What the script left in the background may hold the stream open for ever.
        this.kill();
      }
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.errors += text;
    });
    // A shell that has ended takes no more; its end is what counts.
    child.stdin.on("error", () => undefined);
    child.once("error", (error) => {
      this.failure = error;
    });
    child.once("close", () => {
      greet(false);
      end();
    });
    child.stdin.write(greeting(this.#nonce));
  }

  send(script: string): void {
    this.sent = true;
    this.#child.stdin.end(wrapped(this.#nonce, script));
  }

  /** Ends `ssh`. What runs at the other end is not told. */
  kill(): void {
    this.#child.kill("SIGKILL");
    // A master that is there has this open, too: without an end the child would never be closed.
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }
}

/** In a function: an abort comes while others are awaited, which the compiler does not see. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

function checkScript(script: unknown): void {
  if (typeof script !== "string") {
    throw new InvalidArgumentError(`\`script\` must be a string, but is ${typeof script}`);
  }
  if (script.includes("\0")) {
    throw new InvalidArgumentError("`script` must be text without NUL, which no shell can read");
  }
}

function interrupted(signal: AbortSignal, output = "", stopped?: Stopped): InterruptedError {
  const left = stopped?.left === true ? "; it may still run" : "";
  return new InterruptedError(`interrupted${left}`, {
    cause: stopped?.cause ?? (signal.reason as unknown),
    output,
    exitCode: 130,
    forced: stopped?.forced ?? false,
  });
}
