import type { AbortSignal } from "../platform.js";

/** What a path leads to. */
export interface FileFacts {
  /** The path, as it is known on the target. */
  path: string;
  kind: "file" | "directory" | "other";
  /** In bytes. */
  size: number;
}

/** A file in a list. */
export interface ListedFile {
  /** Its path, relative to the directory that is listed. */
  name: string;
  isDirectory: boolean;
  /** In bytes; undefined of what is no file, or where the target does not say it. */
  size: number | undefined;
  /** Where it leads to, if it is a symbolic link. */
  linkTarget: string | undefined;
}

/** What is in a directory. */
export interface FileList {
  files: ListedFile[];
  /** Whether there is more, which was not read. */
  hasMore: boolean;
}

/** The files of a target, as the tools need them. */
export interface ToolFiles {
  /** What a path leads to, through symbolic links; undefined where there is nothing. */
  stat(path: string, signal: AbortSignal | undefined): Promise<FileFacts | undefined>;
  /** The bytes of a file. Nothing is read ahead of who iterates. */
  read(path: string, signal: AbortSignal | undefined): AsyncIterable<Uint8Array>;
  /** Writes a file, whole or not at all, with the directories above it. */
  write(path: string, text: string, signal: AbortSignal | undefined): Promise<void>;
  /** What is in a directory, in order of names, and so many levels below it. */
  list(path: string, depth: number, signal: AbortSignal | undefined): Promise<FileList>;
}
