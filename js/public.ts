export type {
  BackgroundErrorReason,
  BackgroundOptions,
  BackgroundOutput,
  BackgroundProcess,
  BackgroundRunOptions,
  BackgroundRunResult,
  BackgroundStatus,
  BackgroundWaitForOutputOptions,
  BackgroundWaitOptions,
  CreateExecRequest,
  CreateTokenOptions,
  CreatedToken,
  ExecItem,
  ExecOptions,
  ExecSnapshot,
  ExecStdout,
  FileChange,
  FileChangeType,
  FileInfo,
  FileOptions,
  FileType,
  ListFilesOptions,
  OutputTargets,
  OutputType,
  PortInfo,
  ReadFileOptions,
  ReadOutputOptions,
  ReadStreamOptions,
  RecursiveFileOptions,
  RetryContext,
  RetryOptions,
  SandboxOptions,
  Session,
  SessionOptions,
  Sessions,
  SpawnOptions,
  StdinBody,
  StdinType,
  StreamListOptions,
  TerminateOptions,
  TerminateResult,
  TokenInfo,
  Tokens,
  WaitForOutputOptions,
  WaitForPortOptions,
  WaitLimits,
  WaitOptions,
  WatchFilesOptions,
  WriteFileOptions,
} from "./core/sandpipe.js";
export * from "./core/errors.js";
export type { Background, MakeBackground, WaitForOutput } from "./background.js";
export type { Connect, ConnectOptions } from "./connect.js";
export type { WasmSource } from "./load.js";
export type { RemoveOptions } from "./remove-ended.js";
export type { StdinStream } from "./stdin-stream.js";
export type { StreamOptions } from "./stream.js";
export type { ExecBytesOptions, StreamBytesOptions, WaitBytesOptions } from "./bytes-options.js";
export type { OutputEvent } from "./events.js";
export type { ExecResult, RunningExec } from "./exec-result.js";
export type { BlobLike, FileData, FilePath } from "./file-data.js";
export type { Files } from "./files.js";
export type { FileWatcher } from "./file-watcher.js";
export type { BackgroundFoundOutput, FoundOutput } from "./found-output.js";
export type { NodeWritable, OutputTarget, WebWritable } from "./output-target.js";
export type { Execs } from "./execs.js";
export type { Ports } from "./ports.js";
export type { ByteStream } from "./platform.js";
export type { Runtime, RunResult } from "./runtime.js";
export type { Sandbox } from "./sandbox.js";
export type { Terminal } from "./terminal.js";
