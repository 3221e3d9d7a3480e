import { checkSignal } from "./arguments.js";
import {
  Execs as Core,
  type ExecItem,
  type ExecStdout,
  type Sandbox,
  type StdinBody,
} from "./core/sandpipe.js";
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
   * The events of an exec's output, each once and in order, as they arrive. The last one carries the
   * exit code. Leaving the loop early closes the connection and does not stop the process.
   *
   * @param lastSequence Only the events after this one; -N: the last N events and what follows.
   * Default: 0, all.
   * @throws {ExitCodeMissingError} The output ended without an exit code.
   * @throws {OutputLostError} The agent no longer has some of them.
   * @throws The reason of `options.signal` when that is aborted.
   */
  streamOutput(
    id: string,
    lastSequence?: number,
    options?: StreamOptions,
  ): AsyncIterableIterator<ExecStdout> {
    return new EventStream(() => this.#core.streamOutput(id, lastSequence), checkSignal(options));
  }

  /**
   * The list of all execs, newest first: as it is now, then again whenever something changed, up to some
   * twenty times a second. An exec that has not changed since the list before is the same object, if the
   * agent tells what has changed (the extension `list-changes`). Long command lines are short, as in
   * {@link Execs.list}.
   *
   * @throws The reason of `options.signal` when that is aborted.
   */
  streamList(options?: StreamOptions): AsyncIterableIterator<{ execs: ExecItem[] }> {
    return new EventStream(() => this.#core.streamList(), checkSignal(options));
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
