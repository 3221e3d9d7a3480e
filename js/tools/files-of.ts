import { isSandpipeError } from "../core/errors.js";
import type { AbortSignal } from "../platform.js";
import { RUN_AND_FORGET, type Runtime } from "../runtime.js";
import { AgentFiles, type WireFiles } from "./agent-files.js";
import { type Run, ShellFiles } from "./shell-files.js";
import type { FileFacts, FileList, ToolFiles } from "./tool-files.js";

/**
 * The files of a runtime: those that it has itself, as a sandbox does, or else by its shell. An agent that has no files is asked by
 * its shell, too.
 */
export function filesOf(runtime: Runtime): ToolFiles {
  const { files } = Object(runtime) as RuntimeParts;
  const shell = new ShellFiles(async (script, options) => {
    const forgetful = runtime as RuntimeParts;
    return await (forgetful[RUN_AND_FORGET]?.(script, options) ?? runtime.run(script, options));
  });
  if (typeof files?.readStream !== "function") return shell;
  return new WithFallback(new AgentFiles(files as WireFiles), shell);
}

/** What a runtime may have besides `run`. */
interface RuntimeParts {
  [RUN_AND_FORGET]?: Run;
  files?: Partial<WireFiles>;
}

/** Files by an agent, or by a shell where it has none. */
class WithFallback implements ToolFiles {
  #files: ToolFiles;
  readonly #shell: ToolFiles;

  constructor(files: ToolFiles, shell: ToolFiles) {
    this.#files = files;
    this.#shell = shell;
  }

  stat(path: string, signal: AbortSignal | undefined): Promise<FileFacts | undefined> {
    return this.#do((files) => files.stat(path, signal));
  }

  read(path: string, signal: AbortSignal | undefined): AsyncIterable<Uint8Array> {
    // Whether there are files is known: a file is looked at before it is read.
    return this.#files.read(path, signal);
  }

  write(path: string, text: string, signal: AbortSignal | undefined): Promise<void> {
    return this.#do((files) => files.write(path, text, signal));
  }

  list(path: string, depth: number, signal: AbortSignal | undefined): Promise<FileList> {
    return this.#do((files) => files.list(path, depth, signal));
  }

  async #do<T>(call: (files: ToolFiles) => Promise<T>): Promise<T> {
    try {
      return await call(this.#files);
    } catch (error) {
      if (!isSandpipeError(error, "unsupported") || this.#files === this.#shell) throw error;
      this.#files = this.#shell;
      return await call(this.#shell);
    }
  }
}
