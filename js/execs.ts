import { checkSignal } from "./arguments.js";
import type { ExecBytesOptions, StreamBytesOptions, WaitBytesOptions } from "./bytes-options.js";
import {
  type Batches,
  Execs as Core,
  type ExecItem,
  type ExecOptions,
  type ExecStdout,
  type Sandbox,
  type StdinBody,
  type StreamListOptions,
  type WaitForOutputOptions,
  type WaitOptions,
} from "./core/sandpipe.js";
import type { OutputEvent } from "./events.js";
import { type ExecResult, type RunningExec, withFacts } from "./exec-result.js";
import type { FoundOutput } from "./found-output.js";
import { withTargets } from "./output-target.js";
import { type RemoveOptions, removeEnded } from "./remove-ended.js";
import type { StdinStream } from "./stdin-stream.js";
import { EventStream, type StreamOptions } from "./stream.js";
import { Terminal } from "./terminal.js";

/** The commands of a sandbox. Each call says what it throws; all throw {@link HttpError} as well. */
export class Execs extends Core {
  readonly #core: Sandbox;

  /** @internal */
  constructor(core: Sandbox) {
    super(core);
    this.#core = core;
  }

  /**
   * Writes to a running exec's stdin (`stdin`, the default), sets the size of its terminal
   * (`resize`, with `{"cols":80,"rows":24}` as JSON in `input`), or closes its stdin (`eof`, with
   * empty `input`). Text or bytes alone are for its stdin. It is never repeated: the process could read them twice.
   *
   * @throws {UnsupportedError} The agent has no way to close a stdin, or takes text alone and these bytes are none.
   */
  override sendStdin(id: string, body: StdinBody | string | Uint8Array): Promise<ExecItem>;
  /**
   * Writes to a running exec's stdin what a stream gives, no faster than the process reads, and closes it at the
   * stream's end. When the process reads no more, or has ended, which shows with the next piece, the rest is left and
   * the stream cancelled. What can't have arrived is sent again, as `retry` of `connect` says.
   *
   * @throws {UnsupportedError} The agent has no way to close a stdin, or takes text alone (it lacks the extension
   * `stdin-bytes`) and these bytes are not UTF-8.
   * @throws What the stream does.
   */
  override sendStdin(id: string, body: StdinStream): Promise<void>;
  override sendStdin(
    id: string,
    body: StdinBody | string | Uint8Array | StdinStream,
  ): Promise<ExecItem | void> {
    // The core takes both.
    return super.sendStdin(id, body as StdinBody);
  }

  /**
   * Runs a command to its end and resolves its exit code and its whole output, byte for byte.
   *
   * @throws {UnsupportedError} The agent has output as text alone.
   */
  override exec(
    command: string,
    args: string[] | undefined,
    options: ExecBytesOptions,
  ): RunningExec<ExecResult<Uint8Array>>;
  /**
   * Runs a command to its end and resolves its exit code and its whole output, whatever the exit
   * code is: 128 + N after death by signal N, 127 if there is no such command, 126 if it can't be
   * executed. Its stdin is `input`, then end-of-file.
   *
   * The output is complete when the command's process has ended and its output is at its end or silent for 200 ms,
   * at most 2 s later; a stop does not wait for that.
   *
   * @param command The program: a path, or a name that is looked up in `PATH`. No shell reads it:
   * for one, run `sh` with the arguments `["-c", script]`.
   * @param args The program's arguments, handed over byte for byte.
   * @throws {InterruptedError} `signal` or `forceSignal` was aborted.
   * @throws {TimeoutError} `timeoutMs` passed.
   * @throws {ExitCodeMissingError} There is no exit code to be had.
   * @throws {CreateUnknownError} Whether the command was started is not known.
   * @throws {OutputLostError} The agent no longer had some of the output.
   * @throws {OutputLimitError} The output is longer than `maxOutputBytes`, or than a string can be.
   * @throws {UnsupportedError} `input` or `encoding` needs an extension that the agent lacks.
   * @throws {InvalidArgumentError} An argument or option is wrong.
   * @throws What `onOutput` or a stream for `stdout` or `stderr` throws; the command goes on.
   *
   * @example
   * const { exitCode, output } = await sandbox.execs.exec("npm", ["test"], { timeoutMs: 60_000 });
   *
   * @example
   * // Writes stdout to a file as it comes, and keeps none of it.
   * await sandbox.execs.exec("npm", ["test"], { stdout: createWriteStream("test.log") });
   */
  override exec(command: string, args?: string[], options?: ExecOptions): RunningExec<ExecResult>;
  override exec(
    command: string,
    args?: string[],
    options?: ExecOptions | ExecBytesOptions,
  ): RunningExec<ExecResult<never>> {
    const begun = now();
    let created: (id: string) => void = () => undefined;
    const told = new Promise<string>((resolve) => (created = resolve));
    const run = async (): Promise<ExecResult<never>> => {
      const result = await super.exec(command, args, withTargets(options as ExecOptions), created);
      return withFacts(result as ExecResult<never>, command, now() - begun);
    };
    const running = run();
    let id: Promise<string> | undefined;
    const begin = (): Promise<string> => {
      // What ends without an id was not started.
      const id = Promise.race([told, running.then(() => told)]);
      id.catch(() => undefined);
      return id;
    };
    // Not before somebody asks for it: an error that nobody takes is to be an unhandled rejection.
    const property = { get: () => (id ??= begin()), enumerable: true };
    return Object.defineProperty(running, "id", property) as RunningExec<ExecResult<never>>;
  }

  /**
   * Follows an exec that exists to its end, from the beginning of its output, also after the end, and resolves its output
   * byte for byte.
   *
   * @throws {UnsupportedError} The agent has output as text alone.
   */
  override wait(id: string, options: WaitBytesOptions): Promise<ExecResult<Uint8Array>>;
  /**
   * Follows an exec that exists to its end, from the beginning of its output, also after the end.
   * It resolves and throws as {@link Execs.exec} does.
   */
  override wait(id: string, options?: WaitOptions): Promise<ExecResult>;
  override wait(id: string, options?: WaitOptions | WaitBytesOptions): Promise<ExecResult<never>> {
    const wait = async (): Promise<unknown> => super.wait(id, withTargets(options as WaitOptions));
    return wait() as Promise<ExecResult<never>>;
  }

  /**
   * Waits for a text in an exec's output. What has come already is looked through at once, and text that is cut into several
   * events is found; stdout and stderr are looked through each by itself. The exec goes on, whatever comes of the wait.
   *
   * What a `RegExp` finds is up to 64 KiB long: so much of each stream is kept. Its flags `g` and `y` do not matter, and its
   * `lastIndex` stays as it is. Without the flag `m`, `^` is the beginning of the output; `$` is the end of what has come. Where it finds
   * something at the end of what has come, the rest of it is waited for, 100 ms at most.
   *
   * @throws {NotReadyError} The process has ended, and the text is not in its output.
   * @throws {TimeoutError} `timeoutMs` passed.
   * @throws {ExitCodeMissingError} The output ended without an exit code.
   * @throws {OutputLostError} The agent no longer has some of the output.
   * @throws {InvalidArgumentError} The pattern is empty, or an option is wrong.
   * @throws {InterruptedError} `options.signal` was aborted.
   */
  override waitForOutput(
    id: string,
    pattern: string,
    options?: WaitForOutputOptions,
  ): Promise<FoundOutput<string>>;
  override waitForOutput(
    id: string,
    pattern: RegExp,
    options?: WaitForOutputOptions,
  ): Promise<FoundOutput<RegExpExecArray>>;
  override waitForOutput(
    id: string,
    pattern: string | RegExp,
    options?: WaitForOutputOptions,
  ): Promise<FoundOutput<never>> {
    return super.waitForOutput(id, pattern, options) as Promise<FoundOutput<never>>;
  }

  /**
   * The events of an exec's output in bytes, as the process wrote them.
   *
   * @throws {UnsupportedError} The agent has output as text alone.
   */
  streamOutput(
    id: string,
    lastSequence: number | undefined,
    options: StreamBytesOptions,
  ): AsyncIterableIterator<OutputEvent<Uint8Array>>;
  /**
   * The events of an exec's output, each once and in order, as they arrive. The last one carries the
   * exit code. Leaving the loop early closes the connection and does not stop the process.
   *
   * @param lastSequence Only the events after this one; -N: the last N events and what follows.
   * Default: 0, all.
   * @throws {ExitCodeMissingError} The output ended without an exit code.
   * @throws {OutputLostError} The agent no longer has some of them.
   * @throws {InterruptedError} `options.signal` was aborted.
   */
  streamOutput(
    id: string,
    lastSequence?: number,
    options?: StreamOptions & { encoding?: "utf8" },
  ): AsyncIterableIterator<ExecStdout>;
  streamOutput(
    id: string,
    lastSequence?: number,
    options?: StreamOptions & { encoding?: "utf8" | "bytes" },
  ): AsyncIterableIterator<never> {
    const signal = checkSignal(options);
    const encoding = options?.encoding;
    return new EventStream<never>(
      () => this.#core.streamOutput(id, lastSequence, encoding) as Batches<never>,
      signal,
    );
  }

  /**
   * The list of all execs, newest first: as it is now, then again whenever something changed, up to some
   * twenty times a second. An exec that has not changed since the list before is the same object, if the
   * agent tells what has changed (the extension `list-changes`). Long command lines are short, as in
   * {@link Execs.list}.
   *
   * @throws {InterruptedError} `options.signal` was aborted.
   */
  streamList(options?: StreamListOptions): AsyncIterableIterator<{ execs: ExecItem[] }> {
    return new EventStream(() => this.#core.streamList(options), checkSignal(options));
  }

  /**
   * Deletes execs that have ended, all of them or those that the options say, but for those that left a process
   * running in their process group. It resolves the ids of what it deletes; of one that somebody else removes
   * meanwhile it does not.
   *
   * @throws {InvalidArgumentError} An option is wrong.
   */
  remove(options?: RemoveOptions): Promise<string[]> {
    return removeEnded(this, options);
  }

  /**
   * Takes a terminal's place at an exec: its output as it arrives, its keyboard, its size, its exit
   * code. Over a WebSocket where there can be one, over streams and requests elsewhere: in Node.js
   * before version 22, with a `fetch` or `headers` of your own, and with an agent that lacks the
   * extension `attach`. A WebSocket has the token in its address, for pages can give it no headers:
   * a proxy on the way may write it to its log.
   *
   * @throws {HttpError} With status 404: there is no such exec.
   */
  async attach(id: string): Promise<Terminal> {
    return new Terminal(await this.#core.attach(id));
  }
}

/** In milliseconds; by the wall clock where there is no other. */
function now(): number {
  try {
    return performance.now();
  } catch {
    return Date.now();
  }
}
