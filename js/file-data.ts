import type { ReadableStream } from "./platform.js";

/**
 * A path on the agent's machine: absolute, or relative to its workspace. A name that is not UTF-8 is given percent-encoded, as
 * the `raw` of a {@link FileInfo} has it; any `FileInfo` stands for its own path.
 */
export type FilePath =
  string | { readonly raw: string } | { readonly path: string; readonly raw?: string };

/** What a file can be written from: text, bytes, a `Blob` (a `File`), or a stream of bytes; null, the body of an empty answer, is nothing. */
export type FileData =
  | string
  | Uint8Array
  | BlobLike
  | ReadableStream<Uint8Array | string>
  | AsyncIterable<Uint8Array | string>
  | null;

/** The part of a `Blob` that this package uses. */
export interface BlobLike {
  readonly size: number;
  stream(): object;
}
