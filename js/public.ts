export type { CreateExecRequest, ExecItem, ExecStdout, OutputType } from "./core/sandpipe.js";
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
  BackgroundOptions,
  BackgroundOutput,
  BackgroundProcess,
  BackgroundRunOptions,
  BackgroundRunResult,
  BackgroundStatus,
  BackgroundWaitOptions,
  MakeBackground,
  ReadOutputOptions,
  SpawnOptions,
} from "./background.js";
export type { Connect } from "./connect.js";
export type { Execs } from "./execs.js";
export type { Runtime } from "./runtime.js";
export type { Sandbox } from "./sandbox.js";
export type { Terminal } from "./terminal.js";
export type { Session, Sessions } from "./sessions.js";
export type {
  ConnectOptions,
  ExecOptions,
  ExecResult,
  ExecSnapshot,
  RemoveOptions,
  RetryContext,
  RetryOptions,
  SessionOptions,
  StreamOptions,
  TerminateOptions,
  TerminateResult,
  WaitOptions,
  WasmSource,
} from "./types.js";
