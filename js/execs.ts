import { checkSignal } from "./arguments.js";
import type {
  CreateExecRequest,
  ExecItem,
  ExecOptions,
  ExecResult,
  Execs as CoreExecs,
  ExecSnapshot,
  ExecStdout,
  StdinBody,
  TerminateOptions,
  TerminateResult,
  WaitOptions,
} from "./core/sandpipe.js";
import { settle } from "./failure.js";
import { type RemoveOptions, removeEnded } from "./remove-ended.js";
import { EventStream, type StreamOptions } from "./stream.js";
import { Terminal } from "./terminal.js";

/** The commands of a sandbox. Each call says what it throws; all throw {@link HttpError} as well. */
export class Execs {
  readonly #core: CoreExecs;

  /** @internal */
  constructor(core: CoreExecs) {
    this.#core = core;
  }

  /**
   * Runs a command to its end and resolves its exit code and its whole output, whatever the exit
   * code is: 128 + N after death by signal N, 127 if there is no such command, 126 if it can't be
   * executed. Its stdin is `input`, then end-of-file.
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
   * @throws {UnsupportedError} `input` needs an extension that the agent lacks.
   * @throws {InvalidArgumentError} An argument or option is wrong.
   * @throws What `onOutput` throws; the command goes on.
   */
  exec(command: string, args?: string[], opts?: ExecOptions): Promise<ExecResult> {
    return settle(this.#core.exec(command, args, opts));
  }

  /**
   * Follows an exec that exists to its end, from the beginning of its output, also after the end.
   * It resolves and throws as {@link Execs.exec} does.
   */
  wait(id: string, opts?: WaitOptions): Promise<ExecResult> {
    return settle(this.#core.wait(id, opts));
  }

  /**
   * What there is of an exec's output now. `exitCode` is undefined while the process runs.
   *
   * @param lastSequence Only the events after this one; -N: the last N events. Default: 0, all.
   * @throws {OutputLostError} The agent no longer has some of them.
   */
  getOutput(id: string, lastSequence?: number): Promise<ExecSnapshot> {
    return settle(this.#core.getOutput(id, lastSequence));
  }

  /**
   * The events of an exec's output, each once and in order, as they arrive. The last one carries the
   * exit code. Leaving the loop early closes the connection and does not stop the process.
   *
   * @param lastSequence Only the events after this one; -N: the last N events and what follows.
   * Default: 0, all.
   * @throws {ExitCodeMissingError} The output ended without an exit code.
   * @throws {OutputLostError} The agent no longer has some of them.
   * @throws The reason of `opts.signal` when that is aborted.
   */
  streamOutput(
    id: string,
    lastSequence?: number,
    opts?: StreamOptions,
  ): AsyncIterableIterator<ExecStdout> {
    return new EventStream(() => this.#core.streamOutput(id, lastSequence), checkSignal(opts));
  }

  /**
   * The list of all execs, newest first: as it is now, then again whenever something changed, up to some
   * twenty times a second. An exec that has not changed since the list before is the same object, if the
   * agent tells what has changed (the extension `list-changes`). Long command lines are short, as in
   * {@link Execs.list}.
   *
   * @throws The reason of `opts.signal` when that is aborted.
   */
  streamList(opts?: StreamOptions): AsyncIterableIterator<{ execs: ExecItem[] }> {
    return new EventStream(() => this.#core.streamList(), checkSignal(opts));
  }

  /**
   * All execs, newest first. Of a long command line there is only the beginning, and `argsTruncated` is true:
   * {@link Execs.get} has the whole.
   */
  list(): Promise<ExecItem[]> {
    return settle(this.#core.list());
  }

  /** One exec. */
  get(id: string): Promise<ExecItem> {
    return settle(this.#core.get(id));
  }

  /** Creates an exec and starts it, unless `autostart` is false. It does not wait for its end. */
  create(request: CreateExecRequest): Promise<ExecItem> {
    return settle(this.#core.create(request));
  }

  /** Starts an exec that was created with `autostart: false`. One that runs is left as it is. */
  start(id: string): Promise<ExecItem> {
    return settle(this.#core.start(id));
  }

  /**
   * Kills an exec's process group, also what a command that has ended left running in it, waits until it is gone,
   * and forgets the exec and its output.
   */
  delete(id: string): Promise<void> {
    return settle(this.#core.delete(id));
  }

  /**
   * Deletes execs that have ended, all of them or those that the options say, but for those that left a process
   * running in their process group. It resolves the ids of what it deletes; of one that somebody else removes
   * meanwhile it does not.
   *
   * @throws {InvalidArgumentError} An option is wrong.
   */
  remove(opts?: RemoveOptions): Promise<string[]> {
    return removeEnded(this, opts);
  }

  /**
   * Writes to a running exec's stdin (`stdin`, the default), sets the size of its terminal
   * (`resize`, with `{"cols":80,"rows":24}` as JSON in `input`), or closes its stdin (`eof`, with
   * empty `input`). It is never repeated: the process could read the text twice.
   *
   * @throws {UnsupportedError} The agent has no way to close a stdin.
   */
  sendStdin(id: string, body: StdinBody): Promise<ExecItem> {
    return settle(this.#core.sendStdin(id, body));
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
    return new Terminal(await settle(this.#core.attach(id)));
  }

  /**
   * Sends a signal to an exec's whole process group. It does not wait for what comes of it.
   *
   * @param signal Its name, or `"0"` to ask only whether a process is left. Default: `"SIGTERM"`.
   * @throws {HttpError} With status 409: no process of the group is left.
   */
  kill(id: string, signal?: string): Promise<void> {
    return settle(this.#core.kill(id, signal));
  }

  /**
   * Stops an exec: SIGTERM to its whole process group, `graceMs` for it to end, then SIGKILL.
   * Resolves when no process of the group is left, also when it had ended before: what outlived
   * it is stopped, too, if the agent can tell (the extension `signal`).
   *
   * @throws {StillThereError} Processes are left although they were killed.
   */
  terminate(id: string, opts?: TerminateOptions): Promise<TerminateResult> {
    return settle(this.#core.terminate(id, opts));
  }
}
