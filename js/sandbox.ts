// So that the types compile for users whose `lib` is older.
/// <reference lib="esnext.disposable" preserve="true" />

import { type Background, makeBackground } from "./background.js";
import {
  type Batches,
  Sandbox as Core,
  type FileOptions,
  type ReadFileOptions,
  type SandboxOptions,
  type Sessions,
  Tokens,
} from "./core/sandpipe.js";
import { Execs } from "./execs.js";
import type { FilePath } from "./file-data.js";
import { Files } from "./files.js";
import { INSPECT, inspected } from "./inspect.js";
import type { AbortSignal } from "./platform.js";
import { POLICY_SUMMARY, type PolicySummary } from "./policy-summary.js";
import { Ports } from "./ports.js";
import { type Fetch, withRedirects } from "./redirects.js";
import { RUN_AND_FORGET, type Runtime, type RunResult } from "./runtime.js";
import { FORWARDS, PORT_SOCKET, READ_TREE, type SocketRequest, WRITE_TREE } from "./node-parts.js";

/** A sandbox: one agent, and the commands that it runs. `connect()` makes one. */
export class Sandbox implements Runtime {
  readonly #core: Core;

  /** The commands. */
  readonly execs: Execs;

  /** The files. */
  readonly files: Files;

  /** The TCP ports that are listened on. */
  readonly ports: Ports;

  /** The scoped tokens. */
  readonly tokens: Tokens;

  /** The shells that remember. */
  readonly sessions: Sessions;

  /** Processes that outlive the caller, in the default place: `background(sandbox)`. */
  readonly background: Background;

  /** @internal */
  readonly [POLICY_SUMMARY]: PolicySummary | undefined;

  /** @internal */
  readonly [FORWARDS] = new Set<() => Promise<void>>();

  readonly #url: string;

  /** @internal */
  constructor(options: SandboxOptions, fetch: Fetch, policy?: PolicySummary) {
    this[POLICY_SUMMARY] = policy;
    // The caller's is to keep secrets from other origins, too.
    this.#core = new Core(options, withRedirects((options.fetch as Fetch | undefined) ?? fetch));
    this.#url = String(options.url);
    this.execs = new Execs(this.#core);
    this.files = new Files(this.#core);
    this.ports = new Ports(this.#core);
    this.tokens = new Tokens(this.#core);
    this.sessions = this.#core.sessions;
    this.background = makeBackground(this, undefined, () => Promise.resolve());
  }

  /**
   * The scripts of background processes leave nothing in their groups: their execs go when they have
   * ended.
   *
   * @internal
   */
  [RUN_AND_FORGET](script: string, options?: { signal?: AbortSignal }): Promise<RunResult> {
    return this.#core.run(script, options, true);
  }

  /** @internal */
  [READ_TREE](
    path: FilePath,
    exclude: readonly string[],
    options: FileOptions,
  ): Batches<Uint8Array> {
    return this.#core.readTree(path, exclude, options);
  }

  /** @internal */
  [WRITE_TREE](path: FilePath, open: () => object, options: ReadFileOptions): Promise<void> {
    return this.#core.writeTree(path, open, options);
  }

  /** @internal */
  async [PORT_SOCKET](port: number): Promise<SocketRequest> {
    const url = await this.#core.portAddress(port);
    return { url, headers: this.#core.headers };
  }

  /**
   * Runs a script with the sandbox's `sh` and resolves its exit code and its whole output, whatever the
   * exit code is. The script may have any length; its stdin is empty.
   *
   * @example
   * const { exitCode, output } = await sandbox.run("npm ci && npm test");
   *
   * @throws {InterruptedError} `options.signal` was aborted: the script and all that it had started were
   * stopped as {@link Execs.exec} does it.
   * @throws {ExitCodeMissingError} There is no exit code to be had.
   * @throws {CreateUnknownError} Whether the script was started is not known.
   */
  run(script: string, options?: { signal?: AbortSignal }): Promise<RunResult> {
    return this.#core.run(script, options, false);
  }

  /**
   * What commands may touch: the name of a preset (`open`: all that the agent may), or `custom`. Undefined where the agent does
   * not say it. Each call asks the agent.
   *
   * @throws {HttpError} Something else answers.
   */
  policy(): Promise<string | undefined> {
    return this.#core.policy();
  }

  /**
   * Ends every request and stream that is under way (they reject with {@link ClosedError}) and
   * refuses new ones. Sessions and forwarded ports end; running commands go on. What the package has begun to do for itself (a
   * signal, the deletion of what it has made) is carried out to its end.
   */
  close(): void {
    for (const end of this[FORWARDS]) void end();
    this.#core.close();
  }

  /** What is printed of it: the agent's address and its policy. @internal */
  [INSPECT](_depth: unknown, options: unknown, inspect?: (value: unknown) => string): string {
    const policy = this[POLICY_SUMMARY]?.name;
    return inspected(this.constructor.name, { url: this.#url, policy }, options, inspect);
  }

  /** The same as {@link Sandbox.close}, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}
