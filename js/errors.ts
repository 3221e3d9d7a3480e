/**
 * The machine-readable name of what went wrong:
 *
 * - `http`, `network`: {@link HttpError}
 * - `create_unknown`: {@link CreateUnknownError}
 * - `exit_code_missing`: {@link ExitCodeMissingError}
 * - `interrupted`: {@link InterruptedError}
 * - `timeout`: {@link TimeoutError}
 * - `output_limit`: {@link OutputLimitError}
 * - `output_lost`: {@link OutputLostError}
 * - `protocol`: {@link ProtocolError}
 * - `still_there`: {@link StillThereError}
 * - `session`: {@link SessionError}
 * - `unsupported`: {@link UnsupportedError}
 * - `invalid_argument`: {@link InvalidArgumentError}
 * - `background`: {@link BackgroundError}
 * - `not_found`: {@link NotFoundError}
 * - `closed`: {@link ClosedError}
 * - `load`: {@link LoadError}
 * - `agent`: {@link AgentError}
 * - `ssh`: {@link SshError}
 */
export type SandpipeErrorCode = keyof SandpipeErrors;

/** The class of each {@link SandpipeErrorCode}. */
export interface SandpipeErrors {
  http: HttpError;
  network: HttpError;
  create_unknown: CreateUnknownError;
  exit_code_missing: ExitCodeMissingError;
  interrupted: InterruptedError;
  timeout: TimeoutError;
  output_limit: OutputLimitError;
  output_lost: OutputLostError;
  protocol: ProtocolError;
  unsupported: UnsupportedError;
  invalid_argument: InvalidArgumentError;
  still_there: StillThereError;
  session: SessionError;
  background: BackgroundError;
  not_found: NotFoundError;
  closed: ClosedError;
  load: LoadError;
  agent: AgentError;
  ssh: SshError;
}

/** What an error carries beside its message. */
export interface SandpipeErrorDetails {
  /** What to do about it. The message ends with it, too. */
  hint?: string | undefined;
  /** What brought it about. */
  cause?: unknown;
}

/** In the global symbol registry, so that every copy of the package knows the same one. */
const brand = Symbol.for("sandpipe.error");

/** The base of every error that this package throws by itself. */
export class SandpipeError extends Error {
  override readonly name: string = "SandpipeError";
  /** What went wrong, for a program to tell apart. */
  readonly code: SandpipeErrorCode;
  /** What to do about it. */
  readonly hint?: string;

  constructor(code: SandpipeErrorCode, message: string, details: SandpipeErrorDetails = {}) {
    super(message, "cause" in details ? { cause: details.cause } : undefined);
    this.code = code;
    if (details.hint !== undefined) this.hint = details.hint;
    Object.defineProperty(this, brand, { value: true });
  }
}

/**
 * Whether `error` is a {@link SandpipeError}, of the given code if there is one. Unlike
 * `instanceof` it also knows the errors of another copy of the package.
 */
export function isSandpipeError<Code extends SandpipeErrorCode>(
  error: unknown,
  code: Code,
): error is SandpipeErrors[Code];
export function isSandpipeError(error: unknown): error is SandpipeError;
export function isSandpipeError(error: unknown, code?: SandpipeErrorCode): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { [brand]: branded, code: actual } = error as { [brand]?: unknown; code?: unknown };
  return branded === true && (code === undefined || actual === code);
}

/** The agent answered with an error (`http`), or there was no answer (`network`). */
export class HttpError extends SandpipeError {
  override readonly name = "HttpError";
  override readonly code: "http" | "network";
  /** The HTTP status; 0 where there was no answer. */
  readonly status: number;
  /** What the request was for, such as `"create exec"`. */
  readonly operation: string;
  /** The body of the answer, as text. */
  readonly body?: string;

  constructor(
    message: string,
    details: SandpipeErrorDetails & {
      status: number;
      operation: string;
      body?: string | undefined;
    },
  ) {
    const code = details.status === 0 ? "network" : "http";
    super(code, message, details);
    this.code = code;
    this.status = details.status;
    this.operation = details.operation;
    if (details.body !== undefined) this.body = details.body;
  }
}

/**
 * The output ended and no exit code came: what became of the command is not known. It may still
 * run. Ask again with `execs.wait(error.execId)`.
 */
export class ExitCodeMissingError extends SandpipeError {
  override readonly name = "ExitCodeMissingError";
  override readonly code = "exit_code_missing";
  /** The exec that it is about. */
  readonly execId: string;
  /** The output up to then. Empty where it has been handed over already. */
  readonly output: string;

  constructor(message: string, details: SandpipeErrorDetails & { execId: string; output: string }) {
    super("exit_code_missing", message, details);
    this.execId = details.execId;
    this.output = details.output;
  }
}

/**
 * Whether the command was started is not known: no answer to its create came, and the agent can't
 * tell a repeated create from a new one. It may run.
 */
export class CreateUnknownError extends SandpipeError {
  override readonly name = "CreateUnknownError";
  override readonly code = "create_unknown";
  /** The program that was to be run. */
  readonly command: string;

  constructor(message: string, details: SandpipeErrorDetails & { command: string }) {
    super("create_unknown", message, details);
    this.command = details.command;
  }
}

/** How a stopped command ended. */
export interface StoppedDetails extends SandpipeErrorDetails {
  execId?: string | undefined;
  output: string;
  exitCode: number;
  forced: boolean;
}

/** `signal` or `forceSignal` was aborted, and the command was stopped. `cause` is the reason. */
export class InterruptedError extends SandpipeError {
  override readonly name = "AbortError";
  override readonly code = "interrupted";
  /** The exec that it is about; undefined where nothing had been run. */
  readonly execId?: string;
  /** The output up to the end. */
  readonly output: string;
  /** 130, whatever the process made of the signal: 128 + SIGINT, as a shell has it. */
  readonly exitCode: number;
  /** Whether it took SIGKILL. */
  readonly forced: boolean;

  constructor(message: string, details: StoppedDetails) {
    super("interrupted", message, details);
    if (details.execId !== undefined) this.execId = details.execId;
    this.output = details.output;
    this.exitCode = details.exitCode;
    this.forced = details.forced;
  }
}

/** `timeoutMs` passed, and the command was stopped. */
export class TimeoutError extends SandpipeError {
  override readonly name = "TimeoutError";
  override readonly code = "timeout";
  /** The exec that it is about; undefined where nothing had been run. */
  readonly execId?: string;
  /** The output up to the end. */
  readonly output: string;
  /** 124, as `timeout` of the GNU coreutils has it. */
  readonly exitCode: number;
  /** Whether it took SIGKILL. */
  readonly forced: boolean;

  constructor(message: string, details: StoppedDetails) {
    super("timeout", message, details);
    if (details.execId !== undefined) this.execId = details.execId;
    this.output = details.output;
    this.exitCode = details.exitCode;
    this.forced = details.forced;
  }
}

/**
 * There was more output than was allowed, or than a string can hold. Where it was more than `maxOutputBytes`
 * the command was stopped, and the message says so, or why it could not be.
 */
export class OutputLimitError extends SandpipeError {
  override readonly name = "OutputLimitError";
  override readonly code = "output_limit";
  /** The exec that it is about; empty for a script of a runtime that has no execs. */
  readonly execId: string;
  /** The first part of the output. */
  readonly output: string;

  constructor(message: string, details: SandpipeErrorDetails & { execId: string; output: string }) {
    super("output_limit", message, details);
    this.execId = details.execId;
    this.output = details.output;
  }
}

/**
 * The agent no longer has some of the output that was not read yet. The command was not stopped; if it has
 * ended, the exit code is known all the same.
 */
export class OutputLostError extends SandpipeError {
  override readonly name = "OutputLostError";
  override readonly code = "output_lost";
  /** The exec that it is about. */
  readonly execId: string;
  /** The sequence number of the first event that is lost. */
  readonly from: number;
  /** The sequence number of the last event that is lost. */
  readonly to: number;
  /** The output before them. Empty where it has been handed over already. */
  readonly output: string;
  /** What the command ended with; undefined where it still runs, or the agent did not say. */
  readonly exitCode?: number;

  constructor(
    message: string,
    details: SandpipeErrorDetails & {
      execId: string;
      from: number;
      to: number;
      output: string;
      exitCode?: number | undefined;
    },
  ) {
    super("output_lost", message, details);
    this.execId = details.execId;
    this.from = details.from;
    this.to = details.to;
    this.output = details.output;
    if (details.exitCode !== undefined) this.exitCode = details.exitCode;
  }
}

/** The agent said something that is not the protocol: the address may not be an agent's. */
export class ProtocolError extends SandpipeError {
  override readonly name = "ProtocolError";
  override readonly code = "protocol";
  /** The beginning of what it said. */
  readonly excerpt: string;

  constructor(message: string, details: SandpipeErrorDetails & { excerpt: string }) {
    super("protocol", message, details);
    this.excerpt = details.excerpt;
  }
}

/** Processes of an exec are still there although they were killed: the system holds them up. */
export class StillThereError extends SandpipeError {
  override readonly name = "StillThereError";
  override readonly code = "still_there";
  /** The exec that it is about. */
  readonly execId: string;

  constructor(message: string, details: SandpipeErrorDetails & { execId: string }) {
    super("still_there", message, details);
    this.execId = details.execId;
  }
}

/** A session's shell could not be started, or the session is over. The message says why. */
export class SessionError extends SandpipeError {
  override readonly name = "SessionError";
  override readonly code = "session";
  /** The exec that is, or was, the shell. */
  readonly execId: string;
  /** What the script had written, if it had begun. */
  readonly output: string;

  constructor(message: string, details: SandpipeErrorDetails & { execId: string; output: string }) {
    super("session", message, details);
    this.execId = details.execId;
    this.output = details.output;
  }
}

/** It needs an extension that this agent does not offer. */
export class UnsupportedError extends SandpipeError {
  override readonly name = "UnsupportedError";
  override readonly code = "unsupported";
  /** The extension, as agents announce it. */
  readonly feature: string;

  constructor(message: string, details: SandpipeErrorDetails & { feature: string }) {
    super("unsupported", message, details);
    this.feature = details.feature;
  }
}

/** An argument was wrong. The message says which, what it was, and what is right. */
export class InvalidArgumentError extends SandpipeError {
  override readonly name = "InvalidArgumentError";
  override readonly code = "invalid_argument";

  constructor(message: string, details?: SandpipeErrorDetails) {
    super("invalid_argument", message, details);
  }
}

/**
 * Why the target of a background process refuses what it could do otherwise:
 *
 * - `running`: the process, or something that it started, still runs
 * - `untrusted`: the directory of the processes is not its owner's alone
 */
export type BackgroundErrorReason = "running" | "untrusted";

/**
 * The target of a background process could not do what was asked for, and the message says why; or
 * its shell did not answer to the end.
 */
export class BackgroundError extends SandpipeError {
  override readonly name = "BackgroundError";
  override readonly code = "background";
  /** What was to be done, such as `"spawn process"`. */
  readonly operation: string;
  /** The beginning of what the target's shell printed. */
  readonly output: string;
  /** The process that it is about, if it is about one: it may be asked for again. */
  readonly id?: string;
  /** Why the target refused, where the caller can see to that. */
  readonly reason?: BackgroundErrorReason;

  constructor(
    message: string,
    details: SandpipeErrorDetails & {
      operation: string;
      output: string;
      id?: string | undefined;
      reason?: BackgroundErrorReason | undefined;
    },
  ) {
    super("background", message, details);
    this.operation = details.operation;
    this.output = details.output;
    if (details.id !== undefined) this.id = details.id;
    if (details.reason !== undefined) this.reason = details.reason;
  }
}

/** There is no background process of that id below the client's `baseDir` and `workspace`. */
export class NotFoundError extends SandpipeError {
  override readonly name = "NotFoundError";
  override readonly code = "not_found";
  /** The id that was asked for. */
  readonly id: string;

  constructor(message: string, details: SandpipeErrorDetails & { id: string }) {
    super("not_found", message, details);
    this.id = details.id;
  }
}

/** The sandbox had been closed, or was closed while the call was under way. */
export class ClosedError extends SandpipeError {
  override readonly name = "ClosedError";
  override readonly code = "closed";

  constructor(message: string, details?: SandpipeErrorDetails) {
    super("closed", message, details);
  }
}

/** The embedded agent could not be found, or did not start. */
export class AgentError extends SandpipeError {
  override readonly name = "AgentError";
  override readonly code = "agent";

  constructor(message: string, details?: SandpipeErrorDetails) {
    super("agent", message, details);
  }
}

/** A machine could not be reached over SSH, or the connection was lost. */
export class SshError extends SandpipeError {
  override readonly name = "SshError";
  override readonly code = "ssh";
  /** The machine. */
  readonly host: string;
  /** Whether the script was sent: then it may have run, and may still. */
  readonly mayHaveRun: boolean;
  /** The script's output up to then. */
  readonly output: string;

  constructor(
    message: string,
    details: SandpipeErrorDetails & { host: string; mayHaveRun: boolean; output: string },
  ) {
    super("ssh", message, details);
    this.host = details.host;
    this.mayHaveRun = details.mayHaveRun;
    this.output = details.output;
  }
}

/** The package's WebAssembly module could not be loaded. `cause` is why, `hint` what to configure. */
export class LoadError extends SandpipeError {
  override readonly name = "LoadError";
  override readonly code = "load";

  constructor(message: string, details?: SandpipeErrorDetails) {
    super("load", message, details);
  }
}
