export type { CreateExecRequest, ExecItem, ExecStdout, OutputType } from "./core/sandpipe.js";
export {
  AgentError,
  ClosedError,
  CreateUnknownError,
  ExitCodeMissingError,
  HttpError,
  InterruptedError,
  InvalidArgumentError,
  isSandpipeError,
  LoadError,
  OutputLimitError,
  OutputLostError,
  ProtocolError,
  SandpipeError,
  type SandpipeErrorCode,
  type SandpipeErrorDetails,
  type SandpipeErrors,
  StillThereError,
  type StoppedDetails,
  TimeoutError,
  UnsupportedError,
} from "./errors.js";
export type { Connect } from "./connect.js";
export type { Execs } from "./execs.js";
export type { Sandbox } from "./sandbox.js";
export type {
  ConnectOptions,
  ExecOptions,
  ExecResult,
  ExecSnapshot,
  RetryContext,
  RetryOptions,
  StreamOptions,
  TerminateOptions,
  TerminateResult,
  WaitOptions,
  WasmSource,
} from "./types.js";
