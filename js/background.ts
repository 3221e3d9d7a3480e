import {
  Background as Core,
  type BackgroundOptions,
  type BackgroundOutput,
  type BackgroundProcess,
  type BackgroundRunOptions,
  type BackgroundRunResult,
  type BackgroundWaitOptions,
  type ReadOutputOptions,
  type SpawnOptions,
} from "./core/sandpipe.js";
import { load, type Loader } from "./load.js";
import { RUN_AND_FORGET, type Runtime } from "./runtime.js";

/**
 * The background processes below one directory of one target. They outlive whoever started them: all
 * that there is to know is in files there, so that another client, or this one later, finds them.
 *
 * Every call may throw what the runtime's `run` does, and {@link BackgroundError} where the target could
 * not do it.
 */
export class Background {
  readonly #core: () => Promise<Core>;

  /** @internal */
  constructor(
    runtime: Runtime,
    options: BackgroundOptions | undefined,
    loaded: () => Promise<void>,
  ) {
    let core: Core | undefined;
    this.#core = async () => {
      await loaded();
      return (core ??= new Core(runner(runtime), options));
    };
  }

  /**
   * Starts a script and resolves when it runs, in one round trip. The script may have any length and
   * content. bash runs it where the runtime's shell is bash, else `sh`; its stdin is empty, and a hangup
   * does not end it.
   *
   * @throws {InvalidArgumentError} An argument or option is wrong.
   * @throws {BackgroundError} It could not be started; or there is no answer: the runtime failed, which is
   * the `cause`, and {@link get} tells of its `id` whether it was.
   * @throws What the runtime's `run` did, where that has `mayHaveRun: false`: nothing was started.
   */
  async spawn(script: string, options?: SpawnOptions): Promise<BackgroundProcess> {
    const core = await this.#core();
    return core.spawn(script, options);
  }

  /**
   * All processes, newest first, in one round trip. What has no readable `meta.json` is left out.
   */
  async list(): Promise<BackgroundProcess[]> {
    const core = await this.#core();
    return core.list();
  }

  /**
   * One process.
   *
   * @throws {NotFoundError} There is none of that id.
   */
  async get(id: string): Promise<BackgroundProcess> {
    const core = await this.#core();
    return core.get(id);
  }

  /**
   * Removes a process that has ended, with its output.
   *
   * @throws {BackgroundError} It is still running, or something that it started.
   * @throws {NotFoundError} There is none of that id.
   */
  async remove(id: string): Promise<void> {
    const core = await this.#core();
    return core.remove(id);
  }

  /**
   * Reads output from a place on, also of a process that has ended. To follow it, go on at `nextOffset`
   * until `status` is not `running` and `nextOffset` is what it was: with a `filter`, a read may
   * bring nothing and there is more.
   *
   * @throws {NotFoundError} There is no process of that id.
   * @throws {InvalidArgumentError} An option is wrong; `filter` is no regular expression, say.
   */
  async readOutput(id: string, options?: ReadOutputOptions): Promise<BackgroundOutput> {
    const core = await this.#core();
    return core.readOutput(id, options);
  }

  /**
   * Waits for the end of a process, on the target: nothing is asked again and again from here.
   *
   * @throws {NotFoundError} There is no process of that id.
   * @throws The reason of `options.signal` when that is aborted.
   */
  async wait(id: string, options?: BackgroundWaitOptions): Promise<BackgroundProcess> {
    const core = await this.#core();
    return core.wait(id, options);
  }

  /**
   * Stops a process with all that it has started: SIGTERM to its process group, `graceMs` for it to end,
   * then SIGKILL. Resolves when nothing of the group is left, also when it had ended before.
   *
   * @param options.graceMs How long it may take to end after SIGTERM, in milliseconds. Default: 10 000.
   * @throws {NotFoundError} There is no process of that id.
   * @throws {BackgroundError} Processes are left although they were killed.
   */
  async terminate(id: string, options?: { graceMs?: number }): Promise<BackgroundProcess> {
    const core = await this.#core();
    return core.terminate(id, options);
  }

  /**
   * Runs a command in the background and waits for its end, however long that takes. Its files are
   * removed at its end, unless there is more in them than was handed over.
   *
   * @throws {BackgroundError} It is gone and has left no exit code; or the runtime failed, which is the
   * `cause`, and the command may still run as the process `id`.
   * @throws What the runtime's `run` did, where that has `mayHaveRun: false`: nothing was started.
   */
  async run(command: string, options?: BackgroundRunOptions): Promise<BackgroundRunResult> {
    const core = await this.#core();
    return core.run(command, options);
  }
}

/**
 * The background processes of a runtime. It makes no request, and loads the WebAssembly module with the
 * first call if no `connect()` has done it.
 *
 * @throws {InvalidArgumentError} With the first call: the runtime is none, or an option is wrong.
 */
export type MakeBackground = (runtime: Runtime, options?: BackgroundOptions) => Background;

/**
 * `background` for a JavaScript runtime, which has its own way to get at the module.
 *
 * @internal
 */
export function backgroundWith(loader: Loader): MakeBackground {
  return (runtime, options) => new Background(runtime, options, () => load(loader, undefined));
}

type Forgetful = Runtime & { [RUN_AND_FORGET]: Runtime["run"] };

/** The core says what is wrong with a runtime that is none. */
function runner(runtime: Partial<Forgetful> | null | undefined): Runtime["run"] | undefined {
  const run = runtime?.[RUN_AND_FORGET] ?? runtime?.run;
  return typeof run === "function" ? run.bind(runtime) : undefined;
}
