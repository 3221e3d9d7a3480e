import { isSandpipeError } from "../core/errors.js";
import type { AbortSignal, ReadableStream } from "../platform.js";
import type { FileFacts, FileList, ToolFiles } from "./tool-files.js";

/** What a sandbox's `files` has for the tools. */
export interface WireFiles {
  stat(path: string): Promise<WireFile>;
  readStream(path: string, options?: { signal?: AbortSignal }): ReadableStream<Uint8Array>;
  write(path: string, data: string, options?: { signal?: AbortSignal }): Promise<WireFile>;
  list(path: string, options?: { depth?: number }): Promise<WireFile[]>;
}

export interface WireFile {
  path: string;
  type: string;
  isDir: boolean;
  size: number;
  linkTarget?: string;
}

/** Files by the interface of an agent. */
export class AgentFiles implements ToolFiles {
  readonly #files: WireFiles;

  constructor(files: WireFiles) {
    this.#files = files;
  }

  async stat(path: string): Promise<FileFacts | undefined> {
    try {
      const file = await this.#files.stat(path);
      const kind = file.isDir ? "directory" : isFile(file) ? "file" : "other";
      return { path: file.path, kind, size: file.size };
    } catch (error) {
      if (isSandpipeError(error, "http") && error.status === 404) return undefined;
      throw error;
    }
  }

  async *read(path: string, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    const reader = this.#files.readStream(path, options(signal)).getReader();
    try {
      for (let chunk; !(chunk = await reader.read()).done;) yield chunk.value ?? new Uint8Array();
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  }

  async write(path: string, text: string, signal: AbortSignal | undefined): Promise<void> {
    await this.#files.write(path, text, options(signal));
  }

  async list(path: string, depth: number): Promise<FileList> {
    const [root, files] = await Promise.all([
      this.#files.stat(path),
      this.#files.list(path, { depth }),
    ]);
    const above = root.path.replace(/\/*$/, "/");
    const listed = files.map((file) => ({
      name: file.path.startsWith(above) ? file.path.slice(above.length) : file.path,
      isDirectory: file.type === "directory",
      size: file.type === "file" ? file.size : undefined,
      linkTarget: file.linkTarget,
    }));
    return { files: listed, hasMore: false };
  }
}

/** A link that leads nowhere is no file; of one that leads to something the size is told. */
function isFile({ type }: WireFile): boolean {
  return type === "file" || type === "symlink";
}

function options(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}
