export type { CreateExecRequest, ExecItem, ExecStdout, OutputType } from "./core/sandpipe.js";
export {
  AgentError,
  ClosedError,
  ExitCodeMissingError,
  HttpError,
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
} from "./errors.js";
export type { Connect } from "./connect.js";
export type { Execs } from "./execs.js";
export type { Sandbox } from "./sandbox.js";
export type {
  ConnectOptions,
  ExecOptions,
  ExecResult,
  ExecSnapshot,
  StreamOptions,
  WaitOptions,
  WasmSource,
} from "./types.js";
