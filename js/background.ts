import { checkAwaited } from "./arguments.js";
import {
  Background as Core,
  type BackgroundOptions,
  type BackgroundWaitForOutputOptions,
} from "./core/sandpipe.js";
import type { BackgroundFoundOutput } from "./found-output.js";
import { load, type Loader } from "./load.js";
import { RUN_AND_FORGET, type Runtime } from "./runtime.js";
import { settle } from "./settle.js";

const METHODS = [
  ...(["spawn", "list", "namespaces", "get", "remove"] as const),
  ...(["readOutput", "wait", "waitForPort", "terminate", "run"] as const),
];

/** Waiting for a text, whose result is as the pattern is. */
export interface WaitForOutput {
  /**
   * Waits for a text in the output of a process, on the target. What is there already is looked through at once, and text that is
   * cut into several pieces is found; stdout and stderr are looked through each by itself. The process goes on, whatever comes of
   * the wait. Of a `RegExp`, what {@link Execs.waitForOutput} says is true as well.
   *
   * @throws {NotReadyError} The process has ended, and the text is not in its output.
   * @throws {TimeoutError} `timeoutMs` passed.
   * @throws {NotFoundError} There is no process of that id.
   * @throws {InvalidArgumentError} The pattern is empty, or an option is wrong.
   * @throws {InterruptedError} `options.signal` was aborted.
   */
  waitForOutput(
    id: string,
    pattern: string,
    options?: BackgroundWaitForOutputOptions,
  ): Promise<BackgroundFoundOutput<string>>;
  waitForOutput(
    id: string,
    pattern: RegExp,
    options?: BackgroundWaitForOutputOptions,
  ): Promise<BackgroundFoundOutput<RegExpExecArray>>;
}

/**
 * The background processes below one directory of one target. They outlive whoever started them: all
 * that there is to know is in files there, so that another client, or this one later, finds them.
 *
 * Every call may throw what the runtime's `run` does, and {@link BackgroundError} where the target could
 * not do it.
 */
export type Background = Pick<Core, (typeof METHODS)[number]> & WaitForOutput;

/**
 * The background processes of a runtime. It makes no request, and loads the WebAssembly module with the
 * first call if no `connect()` has done it.
 *
 * @throws {InvalidArgumentError} With the first call: the runtime is none, or an option is wrong.
 */
export type MakeBackground = (runtime: Runtime, options?: BackgroundOptions) => Background;

/**
 * The core's client, whose calls wait until the module has been loaded.
 *
 * @internal
 */
export function makeBackground(
  runtime: Runtime,
  options: BackgroundOptions | undefined,
  loaded: () => Promise<void>,
): Background {
  let core: Core | undefined;
  const make = async (): Promise<Core> => new Core(runner(runtime), options);
  const calls = [...METHODS, "waitForOutput" as const].map((name) => [
    name,
    async (...args: never[]): Promise<unknown> => {
      await loaded();
      core ??= await settle(make());
      return (core[name] as (...args: never[]) => Promise<unknown>)(...args);
    },
  ]);
  return Object.fromEntries(calls) as Background;
}

/**
 * `background` for a JavaScript runtime, which has its own way to get at the module.
 *
 * @internal
 */
export function backgroundWith(loader: Loader): MakeBackground {
  return (runtime, options) => makeBackground(runtime, options, () => load(loader, undefined));
}

type Forgetful = Runtime & { [RUN_AND_FORGET]: Runtime["run"] };

/** The core says what is wrong with a runtime that is none. */
function runner(runtime: Partial<Forgetful> | null | undefined): Runtime["run"] | undefined {
  checkAwaited("runtime", runtime);
  const run = runtime?.[RUN_AND_FORGET] ?? runtime?.run;
  return typeof run === "function" ? run.bind(runtime) : undefined;
}
