export { sshRuntime, type SshRuntime } from "./ssh-runtime.js";
export type { SshRuntimeOptions } from "./ssh/options.js";
export { localRuntime, type LocalRuntimeOptions } from "./local-runtime.js";
export {
  startAgent,
  type EmbeddedAgent,
  type StartAgentOptions,
  type StopAgentOptions,
} from "./start-agent.js";
export {
  createSandbox,
  type CreateSandboxOptions,
  type EmbeddedSandbox,
} from "./create-sandbox.js";
export type { ContainerOptions } from "./container/options.js";
export type { Policy, PolicyName, PolicyPart, PolicyPath } from "./policy.js";
export { download } from "./download.js";
export { forwardPort, type ForwardedPort, type ForwardPortOptions } from "./forward-port.js";
export { upload, type TransferOptions, type TransferProgress } from "./upload.js";
export { toGitBashPath, toWindowsPath } from "./windows.js";
