import type { CreateExecRequest, ExecStdout } from "./core/sandpipe.js";

/** What to connect to, and how. */
export interface ConnectOptions {
  /** The agent's address, such as `http://127.0.0.1:57468`; a path is kept as a prefix. */
  url: string | URL;
  /** The agent's token. */
  token?: string;
  /** What makes the requests. Default: the global `fetch`. */
  fetch?: typeof fetch;
  /** Headers that every request carries. */
  headers?: Record<string, string>;
  /**
   * Where the WebAssembly module comes from, if not from the package: the module, its bytes, an
   * answer that has it, or its address (in Node.js also a file's path). The module is loaded once:
   * later calls use what is there.
   */
  wasm?: WasmSource;
}

/** Something that a WebAssembly module can be made from. */
export type WasmSource = WebAssembly.Module | BufferSource | Response | URL | string;

/** How to follow an exec to its end. */
export interface WaitOptions {
  /** Called with each piece of output as it arrives, in order. What it returns is not awaited. */
  onOutput?(event: ExecStdout): void;
}

/** How to run a command and follow it to its end. */
export type ExecOptions = Omit<
  CreateExecRequest,
  "command" | "args" | "autostart" | "interactive"
> &
  WaitOptions;

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
