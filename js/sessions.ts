// So that the types compile for users whose `lib` is older.
/// <reference lib="esnext.disposable" preserve="true" />

import type {
  ExecResult,
  Session as CoreSession,
  SessionOptions,
  Sessions as CoreSessions,
  WaitOptions,
} from "./core/sandpipe.js";
import { settle } from "./failure.js";

/** The sessions of a sandbox. */
export class Sessions {
  readonly #core: CoreSessions;

  /** @internal */
  constructor(core: CoreSessions) {
    this.#core = core;
  }

  /**
   * Starts a shell and resolves when it is ready. It runs until it is closed, or its sandbox is.
   *
   * @throws {SessionError} There is no such shell, or it could not be started.
   * @throws {HttpError} With status 400: there is no such `cwd` or `user`.
   * @throws {CreateUnknownError} Whether the shell was started is not known.
   * @throws {InvalidArgumentError} An option is wrong.
   */
  async create(opts?: SessionOptions): Promise<Session> {
    return new Session(await settle(this.#core.create(opts)));
  }
}

/** A shell that remembers: directory, variables and functions stay from run to run. */
export class Session implements AsyncDisposable {
  readonly #core: CoreSession;

  /** @internal */
  constructor(core: CoreSession) {
    this.#core = core;
  }

  /**
   * Runs a script in the session's shell and resolves its exit code and its output, whatever the
   * exit code is. Its stdin is empty. What it does to its own output (`exec >file`) and `set -e` end
   * with it; all else stays. Jobs in the background go on and do not hold it up.
   *
   * One run at a time: a run that is asked for meanwhile waits for those before it.
   *
   * A run that is stopped is interrupted (SIGINT, as by Ctrl+C), and the session can be used
   * afterwards. What has not ended after `graceMs` is killed, with all processes of the session but
   * its shell. Where that does not help either, the shell is killed, and the session is over.
   *
   * @throws {InterruptedError} `signal` or `forceSignal` was aborted.
   * @throws {TimeoutError} `timeoutMs` passed, the time in the queue included.
   * @throws {SessionError} The session is over: it was closed, or its shell has ended (by `exit`,
   * `exec`, or a failure under `set -e`), or the agent does not show it any more. The message says
   * whether the script had begun.
   * @throws {OutputLimitError} The output is longer than `maxOutputBytes`, or than a string can be.
   * The script is interrupted.
   * @throws {OutputLostError} The agent no longer had some of the output; the session is over.
   * @throws {ExitCodeMissingError} The exit code can't be had: the shell can't be reached any more,
   * or a piece of the script may not have arrived. The session is over.
   * @throws {HttpError} There was no connection: the script did not run, and the session goes on.
   * @throws {InvalidArgumentError} An argument or option is wrong.
   * @throws What `onOutput` throws; the script is interrupted.
   */
  run(script: string, opts?: WaitOptions): Promise<ExecResult> {
    return settle(this.#core.run(script, opts));
  }

  /**
   * Ends the shell and everything in its process group: SIGHUP, as when a terminal goes away, and
   * SIGKILL for what is left after 2 s. A run that is under way rejects. Resolves when they are gone,
   * also when it is called again.
   */
  close(): Promise<void> {
    return settle(this.#core.close());
  }

  /** The same as {@link Session.close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
