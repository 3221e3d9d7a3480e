import type { CreateExecRequest, ExecStdout } from "./core/sandpipe.js";
import type { AbortSignal, BufferSource, Fetch, Response, URL, WasmModule } from "./platform.js";

/** What to connect to, and how. */
export interface ConnectOptions {
  /** The agent's address, such as `http://127.0.0.1:57468`; a path is kept as a prefix. */
  url: string | URL;
  /** The agent's token. */
  token?: string;
  /**
   * What makes the requests. Default: in Node.js `node:http`, with the options that its global agents have
   * when the package is loaded; elsewhere the global `fetch`. For undici's dispatchers, or a `fetch` that is
   * mocked: `(...args) => fetch(...args)`. How long that waits for an answer (undici: 300 s) is how long
   * a process may leave its input unread.
   */
  fetch?: Fetch;
  /** Headers that every request carries. */
  headers?: Record<string, string>;
  /** When a request is made again, and how a broken stream is resumed. */
  retry?: RetryOptions;
  /**
   * Where the WebAssembly module comes from, if not from the package: the module, its bytes, an
   * answer that has it, or its address (in Node.js also a file's path). The module is loaded once:
   * later calls use what is there.
   */
  wasm?: WasmSource;
}

/**
 * When something is tried again. Only what may be repeated is: no command is ever run twice.
 *
 * A request is tried `maxAttempts` times in all. A stream that ends or breaks is opened again where it was,
 * after the agent has been asked what became of the command: `maxAttempts` failures in a row to reach the
 * agent are borne, and whenever it answers the count begins anew. A command may be silent for hours behind a
 * proxy that ends every stream.
 */
export interface RetryOptions {
  /** How often something is tried. Default: 3. */
  maxAttempts?: number;
  /**
   * The pause after the first failure, in milliseconds; it doubles with each further one. Default: 500.
   * A stream is opened again at once after one that lasted a second or brought something; where streams
   * end at once, the first time at once and then after such pauses.
   */
  baseDelayMs?: number;
  /**
   * The longest pause, in milliseconds. Default: 30 000. A server's `Retry-After` is obeyed up to this; where
   * it asks for more the call fails at once, and the error says so.
   */
  maxDelayMs?: number;
  /**
   * Whether to try again after a failure: a number is the pause in milliseconds. Default: after no
   * answer and after the statuses 408, 429, 500, 502, 503 and 504, and to resume a stream whenever
   * it ends without an exit code. It is not asked where another attempt could run a command twice.
   */
  shouldRetry?(context: RetryContext): boolean | number | Promise<boolean | number>;
  /** Called before the pause of each retry. */
  onRetry?(context: RetryContext): void | Promise<void>;
}

/** A failure that another attempt may follow. */
export interface RetryContext {
  /** What the request was for, such as `"create exec"`. */
  operation: string;
  /**
   * How many attempts have failed in a row, this one included. Of a stream: how many connections in a row,
   * and questions in between, have come to nothing, or 1 after a connection that lasted; it may be more than
   * `maxAttempts`, since only failures to reach the agent count there.
   */
  attempt: number;
  /** The failure. */
  error: unknown;
  /** The HTTP status, if there was an answer. */
  status?: number;
  /** The pause before the next attempt, in milliseconds. */
  delay: number;
}

/** Something that a WebAssembly module can be made from. */
export type WasmSource = WasmModule | BufferSource | Response | URL | string;

/** How to follow an exec to its end. */
export interface WaitOptions {
  /**
   * Aborted: the command is stopped. SIGTERM to its whole process group, `graceMs` for it to end,
   * then SIGKILL. The call rejects with `InterruptedError` when the group is gone.
   */
  signal?: AbortSignal;
  /** Aborted: SIGKILL now, as for a second Ctrl+C. */
  forceSignal?: AbortSignal;
  /** After so many milliseconds it is stopped in the same way: `TimeoutError`. */
  timeoutMs?: number;
  /** How long the command may take to end after SIGTERM, in milliseconds. Default: 10 000. */
  graceMs?: number;
  /** Called with each piece of output as it arrives, in order. What it returns is not awaited. */
  onOutput?(event: ExecStdout): void;
  /** More output than this, a whole number of bytes of UTF-8: the command is stopped, `OutputLimitError`. */
  maxOutputBytes?: number;
}

/** How to run a command and follow it to its end. */
export type ExecOptions = Omit<
  CreateExecRequest,
  "command" | "args" | "autostart" | "interactive"
> &
  WaitOptions & {
    /** What the command reads from its stdin, up to end-of-file. Default: nothing. */
    input?: string;
  };

/** Which shell a session has, and where and how it starts. */
export interface SessionOptions {
  /** The working directory. Default: the agent's workspace. */
  cwd?: string;
  /** Environment variables, added to the agent's own. */
  env?: Record<string, string>;
  /**
   * The user to run as: `user[:group]`, names or numeric ids; a number without an entry in `/etc/passwd` needs a
   * group. Default: the agent's.
   */
  user?: string;
  /** The name or path of a shell: bash or dash. It reads no start-up file. Default: `"bash"`. */
  shell?: string;
}

/** How to stop a command. */
export interface TerminateOptions {
  /** How long it may take to end after SIGTERM, in milliseconds. Default: 10 000. */
  graceMs?: number;
  /** Aborted: SIGKILL now. */
  forceSignal?: AbortSignal;
}

/** Which of the commands that have ended are removed. */
export interface RemoveOptions {
  /**
   * Those that ended before, by the agent's clock: a date, the text of one, or milliseconds since 1970. What an
   * agent does not tell the end of stays.
   */
  endedBefore?: Date | string | number;
  /** How many stay at least, the last to end. Default: 0. */
  keep?: number;
}

/** How a stopped command ended. */
export interface TerminateResult {
  /** The process's own exit code, 128 + N after death by signal N. */
  exitCode: number;
  /** Whether it took SIGKILL. */
  forced: boolean;
}

/** How to follow a stream. */
export interface StreamOptions {
  /** Ends the stream when it is aborted: the iteration throws the signal's reason. */
  signal?: AbortSignal;
}

/** What became of a command. */
export interface ExecResult {
  /** The process's own exit code, 128 + N after death by signal N. */
  exitCode: number;
  /** Its stdout and stderr, joined in order of arrival. */
  output: string;
}

/** An exec's output up to now. */
export interface ExecSnapshot {
  /** The exit code, if the process has ended and its last event is among those asked for. */
  exitCode?: number;
  /** Its stdout and stderr, joined in order of arrival. */
  output: string;
}
