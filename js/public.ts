export type {
  BackgroundOptions,
  BackgroundRunOptions,
  BackgroundWaitOptions,
  CreateExecRequest,
  ExecItem,
  ExecOptions,
  ExecResult,
  ExecSnapshot,
  ExecStdout,
  OutputType,
  ReadOutputOptions,
  RetryContext,
  RetryOptions,
  SandboxOptions,
  Session,
  SessionOptions,
  Sessions,
  SpawnOptions,
  StdinBody,
  StdinType,
  TerminateOptions,
  TerminateResult,
  WaitOptions,
} from "./core/sandpipe.js";
export {
  AgentError,
  BackgroundError,
  type BackgroundErrorReason,
  ClosedError,
  CreateUnknownError,
  ExitCodeMissingError,
  HttpError,
  InterruptedError,
  InvalidArgumentError,
  isSandpipeError,
  LoadError,
  NotFoundError,
  OutputLimitError,
  OutputLostError,
  ProtocolError,
  SandpipeError,
  type SandpipeErrorCode,
  type SandpipeErrorDetails,
  type SandpipeErrors,
  SessionError,
  SshError,
  StillThereError,
  type StoppedDetails,
  TimeoutError,
  UnsupportedError,
} from "./errors.js";
export type {
  Background,
  BackgroundOutput,
  BackgroundProcess,
  BackgroundRunResult,
  BackgroundStatus,
  MakeBackground,
} from "./background.js";
export type { Connect, ConnectOptions } from "./connect.js";
export type { WasmSource } from "./load.js";
export type { RemoveOptions } from "./remove-ended.js";
export type { StreamOptions } from "./stream.js";
export type { Execs } from "./execs.js";
export type { Runtime } from "./runtime.js";
export type { Sandbox } from "./sandbox.js";
export type { Terminal } from "./terminal.js";
