// So that the types compile for users whose `lib` is older.
/// <reference lib="esnext.disposable" preserve="true" />

import { Sandbox as Core } from "./core/sandpipe.js";
import { Execs } from "./execs.js";
import { call, explain } from "./failure.js";
import type { ConnectOptions, RetryContext } from "./types.js";

/** A sandbox: one agent, and the commands that it runs. `connect()` makes one. */
export class Sandbox {
  readonly #core: Core;

  /** The commands. */
  readonly execs: Execs;

  /** @internal */
  constructor(options: Omit<ConnectOptions, "wasm">) {
    this.#core = call(() => new Core(explainFailures(options)));
    this.execs = new Execs(this.#core.execs);
  }

  /**
   * Ends every request and stream that is under way (they reject with {@link ClosedError}) and
   * refuses new ones. Running commands go on.
   */
  close(): void {
    this.#core.close();
  }

  /** The same as {@link Sandbox.close}, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}

/** The caller's retry functions are to see errors of their classes, too. */
function explainFailures(options: Omit<ConnectOptions, "wasm">): Omit<ConnectOptions, "wasm"> {
  const { retry } = options;
  if (retry === undefined || Object(retry) !== retry) return options;
  const explained = { ...retry };
  const wrap =
    <T>(call: (context: RetryContext) => T) =>
    (context: RetryContext): T =>
      call({ ...context, error: explain(context.error) });
  if (typeof retry.shouldRetry === "function") {
    explained.shouldRetry = wrap(retry.shouldRetry.bind(retry));
  }
  if (typeof retry.onRetry === "function") explained.onRetry = wrap(retry.onRetry.bind(retry));
  return { ...options, retry: explained };
}
